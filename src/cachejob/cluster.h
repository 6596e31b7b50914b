/* SPDX-License-Identifier: MIT */
/*
 * cluster: the combined profiles of a job's ranks.
 *
 * It reads one file after the other, so memory grows with distinct paths and with ranks, not with
 * the size of the files. A rank's paths come from its tables of events, which are complete, or else
 * from its list of top paths. Then a sum is a lower bound, and cluster_missing bounds the rest.
 */
#ifndef CACHEJOB_CLUSTER_H
#define CACHEJOB_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "cachejob/jobdir.h"
#include "cachejob/range_table.h"
#include "cachejob/rank_file.h"
#include "cachejob/settings.h"

#define CLUSTER_DAMAGED_MAX 20 /* damaged files that are named */

struct cluster_path {
	uint32_t path; /* id in paths */
	enum path_category category;
	struct decimal values[PATH_VALUES];
	int64_t least_listed; /* least events of each list that has it, summed: cluster_missing */
	struct range events;  /* of ranks that list it */
	bool has_costs;       /* any rank reports the next two: RANK_COSTS */
	struct decimal latency_us, bytes;
};

struct cluster {
	const struct jobdir *job;
	struct range_table metrics;
	struct range_table operations; /* enum operation_value */
	struct range_table latencies;  /* enum latency_value */

	struct settings settings;

	struct strtab *paths;
	struct map path_index;                 /* map_pair(category, path): index of path_rows */
	struct rows path_rows;                 /* struct cluster_path */
	int64_t least_listed[PATH_CATEGORIES]; /* of all ranks' lists of top paths, summed */

	size_t ranks[RANK_FILES];     /* with an undamaged file of this kind */
	size_t sources[RANK_SOURCES]; /* ranks by the worst source that was read */
	size_t rank_count;            /* with any undamaged file */
	size_t complete_ranks;        /* that list all paths until their end */
	size_t reset_ranks; /* that were reset: their earlier counts are in no file that is read */
	struct strtab *damaged; /* the first CLUSTER_DAMAGED_MAX: "PATH: line N: reason" */
	size_t damaged_count;
};

/* What to read, besides metrics and operations. */
enum cluster_paths {
	CLUSTER_ALL_PATHS,
	CLUSTER_TABLES_ONLY, /* the tables of events, and the metrics of ranks that have them */
};

struct cluster_opts {
	enum cluster_paths what;
	void (*progress)(void *self, size_t done, size_t all); /* of ranks; NULL: none */
	void *progress_self;
};

/* Leaves out damaged and unreadable files, and logs them by LOG_WARN. -ENODATA: none is left. job
 * is borrowed for the life of the cluster. */
int cluster_read(struct cluster *c, const struct jobdir *job, const struct cluster_opts *o,
		 struct err *e) MUST_CHECK;
void cluster_fini(struct cluster *c);

const struct cluster_path *cluster_path(const struct cluster *c, size_t i);
/* Paths that the ranks' caches evicted, and that are in no table or list. */
int64_t cluster_evicted_paths(const struct cluster *c);
/* Ranks whose paths may be incomplete, because the kernel answered calls without a request. */
size_t cluster_kernel_cached(const struct cluster *c);
struct str cluster_path_text(const struct cluster *c, const struct cluster_path *p);

/* An upper bound of the path's events that are in no list. */
int64_t cluster_missing(const struct cluster *c, const struct cluster_path *p);

#endif
