/* SPDX-License-Identifier: MIT */
/*
 * jobdir: the folder of a job's profiling files: which ranks there are, and which files of each.
 *
 * A rank is one cache that ran: "HOST-PID", where HOST may be any name. A rank that came to its
 * end has files in profiling/final and tables/final; of one that did not, the last snapshot is
 * taken, or what it wrote when it was reset. Where these folders have none, the final files may be
 * in the job's folder itself.
 *
 * Source: Copper's names of files, and cachefs/profile's, which are the same.
 */
#ifndef CACHEJOB_JOBDIR_H
#define CACHEJOB_JOBDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* What a rank writes. Tables come before the lists that are made of them. */
enum rank_file {
	RANK_METRICS,         /* profiling_aggregate.csv */
	RANK_OPERATIONS,      /* profiling_operations.csv */
	RANK_METADATA_EVENTS, /* each path's counts, of full-path profiling */
	RANK_DATA_EVENTS,
	RANK_TREE_EVENTS,
	RANK_TTL_EVENTS,
	RANK_TOP_PATHS, /* profiling_top_paths.csv */
	RANK_LATENCY,   /* profiling_latency.csv, which Copper does not have */
	RANK_COSTS,     /* profiling_paths.csv, which Copper does not have either */
	RANK_SUMMARY,   /* profiling_summary.md: see settings */
	RANK_FILES,
};

/* When it was written; the first one that there is counts. */
enum rank_source {
	SOURCE_FINAL,
	SOURCE_PRE_DESTROY,
	SOURCE_RUNTIME,
	SOURCE_IOCTL,
	SOURCE_PRE_RESET, /* what was counted before: nothing of it is in the others */
	RANK_SOURCES,
};
extern const char *const rank_source_names[RANK_SOURCES]; /* as their folders */

struct rank {
	const char *name;            /* "HOST-PID", borrowed from the jobdir */
	uint8_t sources[RANK_FILES]; /* bit S: there is such a file of source S */
};

struct jobdir;

/* -ENOENT and the like: path is no folder to read; -ENODATA: no rank's file is in it. */
int jobdir_open(const char *path, struct jobdir **ret, struct err *e) MUST_CHECK;
void jobdir_close(struct jobdir *j); /* NULL is allowed */

/* In order of hosts and process ids. */
size_t jobdir_rank_count(const struct jobdir *j);
const struct rank *jobdir_rank(const struct jobdir *j, size_t i);

/* Would "PREFIX-profiling_aggregate.csv" in folder, which is there, be read as a rank's? */
bool jobdir_would_read(const struct jobdir *j, const char *folder, const char *prefix);

/* Puts the path of a file, that there may be none of, in the place of what is in ret. */
void jobdir_path(const struct jobdir *j, size_t rank, enum rank_file file, enum rank_source source,
		 struct buf *ret);

#endif
