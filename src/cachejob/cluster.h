/* SPDX-License-Identifier: MIT */
/*
 * cluster: what the ranks of a job say together.
 *
 * Files are read one after the other; what is kept grows with distinct paths and with ranks, not
 * with what the ranks tell. Paths come from a rank's tables of events where it has them, which are
 * complete, else from its list of top paths, which is not: then a sum is the least that it can be,
 * and there is a bound to what is missing.
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

#define CLUSTER_DAMAGED_TOLD 20 /* files that are named */

struct cluster_path {
	uint32_t path; /* id in paths */
	enum path_category category;
	struct decimal values[PATH_VALUES];
	int64_t floor; /* the least events in the lists that have it, summed: see cluster_missing */
	struct range events; /* of ranks that tell of it */
	bool has_costs;      /* any rank tells of the next two: RANK_COSTS */
	struct decimal latency_us, bytes;
};

struct cluster {
	const struct jobdir *job;
	struct range_table metrics;
	struct range_table operations; /* enum operation_value */
	struct range_table latencies;  /* enum latency_value */

	struct settings settings;

	struct strtab *paths;
	struct map path_index;           /* map_pair(category, path): index of path_rows */
	struct rows path_rows;           /* struct cluster_path */
	int64_t floors[PATH_CATEGORIES]; /* summed over the ranks' lists of top paths */

	size_t ranks[RANK_FILES];     /* that have a whole file of a kind */
	size_t sources[RANK_SOURCES]; /* ranks by the worst source that had to be taken */
	size_t rank_count;            /* with any whole file */
	size_t complete_ranks;        /* that tell of all paths until their end */
	size_t reset_ranks; /* that were reset: what they did before is in no file that is read */
	struct strtab *damaged; /* the first ones: "PATH: line N: reason" */
	size_t damaged_count;
};

/* What to read, besides metrics and operations. */
enum cluster_paths {
	CLUSTER_ALL_PATHS,
	CLUSTER_TABLES_ONLY, /* only ranks that have such tables, and their metrics */
};

struct cluster_opts {
	enum cluster_paths what;
	void (*progress)(void *self, size_t done, size_t all); /* of ranks; NULL: nobody looks */
	void *progress_self;
};

/* Files that are damaged or cannot be read are left out and told by LOG_WARN, the first ones by
 * name. -ENODATA: none is left. job is borrowed for the life of the cluster. */
int cluster_read(struct cluster *c, const struct jobdir *job, const struct cluster_opts *o,
		 struct err *e) MUST_CHECK;
void cluster_fini(struct cluster *c);

const struct cluster_path *cluster_path(const struct cluster *c, size_t i);
/* Paths that the ranks' budgets did not hold: they are in no table and no list. */
int64_t cluster_unknown_paths(const struct cluster *c);
/* Ranks of which paths may be unknown, as the kernel answered for them without asking the cache. */
size_t cluster_kernel_cached(const struct cluster *c);
struct str cluster_path_text(const struct cluster *c, const struct cluster_path *p);

/* At most so many events of the path are in no list that was read. */
int64_t cluster_missing(const struct cluster *c, const struct cluster_path *p);

#endif
