/* SPDX-License-Identifier: MIT */
/*
 * jobdir: lists the ranks of a job and the profiling files of each.
 *
 * A rank is one cache that ran, "HOST-PID", where HOST may be any name. A rank that ended has files
 * in profiling/final and tables/final. For other ranks, the last snapshot counts, or the files of
 * its last reset. Each file of Copper is optional: a rank of ours has its numbers in its summary,
 * and its paths in its profile. If those folders have no files, files in the job's folder itself
 * count as final.
 *
 * Source: the file names of Copper and of cachefs/profile, which are the same.
 */
#ifndef CACHEJOB_JOBDIR_H
#define CACHEJOB_JOBDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* The files of a rank. The tables come before the lists made from them. */
enum rank_file {
	RANK_METRICS,         /* profiling_aggregate.csv */
	RANK_OPERATIONS,      /* profiling_operations.csv */
	RANK_METADATA_EVENTS, /* each path's counts, of full-path profiling */
	RANK_DATA_EVENTS,
	RANK_TREE_EVENTS,
	RANK_TTL_EVENTS,
	RANK_TOP_PATHS, /* profiling_top_paths.csv */
	RANK_LATENCY,   /* profiling_latency.csv; not Copper's */
	RANK_COSTS,     /* profiling_paths.csv; not Copper's */
	RANK_SUMMARY,   /* profiling_summary.md: settings, and the first two and RANK_LATENCY */
	RANK_PROFILE,   /* profile.pb.gz: the tables of events and RANK_COSTS; not Copper's */
	RANK_FILES,
};

/* When a file was written, the best one first. */
enum rank_source {
	SOURCE_FINAL,
	SOURCE_PRE_DESTROY,
	SOURCE_RUNTIME,
	SOURCE_IOCTL,
	SOURCE_PRE_RESET, /* counts from before a reset, which the others do not include */
	RANK_SOURCES,
};
extern const char *const rank_source_names[RANK_SOURCES]; /* as their folders */

struct rank {
	const char *name;            /* "HOST-PID", borrowed from the jobdir */
	uint8_t sources[RANK_FILES]; /* bit S: it has this file from source S */
};

struct jobdir;

/* -ENOENT and the like: path cannot be read as a folder; -ENODATA: it has no rank's file. */
int jobdir_open(const char *path, struct jobdir **ret, struct err *e) MUST_CHECK;
void jobdir_close(struct jobdir *j); /* NULL is allowed */

/* Sorted by host and process id. */
size_t jobdir_rank_count(const struct jobdir *j);
const struct rank *jobdir_rank(const struct jobdir *j, size_t i);

/* Would jobdir read "PREFIX-profiling_aggregate.csv" in this folder, which exists, as a rank's? */
bool jobdir_would_read(const struct jobdir *j, const char *folder, const char *prefix);

/* Replaces ret by the path of a file, which may not exist. */
void jobdir_path(const struct jobdir *j, size_t rank, enum rank_file file, enum rank_source source,
		 struct buf *ret);

#endif
