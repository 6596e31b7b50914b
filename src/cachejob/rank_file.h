/* SPDX-License-Identifier: MIT */
/*
 * rank_file: parses one file of a rank into rows.
 *
 * It finds columns by name, and ignores further ones. It rejects a truncated file, or one with an
 * invalid path or count, as a whole.
 *
 * Source: Copper's profiling_*.csv and *_cache_event.output.
 */
#ifndef CACHEJOB_RANK_FILE_H
#define CACHEJOB_RANK_FILE_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "cachefs/profile/decimal.h"
#include "cachejob/jobdir.h"

enum path_category {
	CATEGORY_METADATA,
	CATEGORY_DATA,
	CATEGORY_TREE,
	CATEGORY_TTL,
	PATH_CATEGORIES,
};
extern const char *const path_category_names[PATH_CATEGORIES + 1]; /* ends with NULL */

/* Values of a row of RANK_METRICS, */
enum { METRIC_VALUE, METRIC_VALUES };

/* of RANK_OPERATIONS, */
enum operation_value {
	OPERATION_CALLS,
	OPERATION_HITS,
	OPERATION_MISSES,
	OPERATION_NEGATIVE,
	OPERATION_LATENCY, /* seconds */
	OPERATION_VALUES,
};

/* of RANK_LATENCY, */
enum latency_value {
	LATENCY_P50, /* microseconds */
	LATENCY_P90,
	LATENCY_P99,
	LATENCY_MAX,
	LATENCY_STORAGE, /* seconds */
	LATENCY_BYTES,
	LATENCY_VALUES,
};

/* of RANK_COSTS, */
enum cost_value {
	COST_METADATA, /* microseconds, also the next two: in the order of enum path_category */
	COST_DATA,
	COST_TREE,
	COST_BYTES, /* read */
	COST_VALUES,
};

/* and of the others. */
enum path_value {
	PATH_EVENTS, /* the sum of the category's other values */
	PATH_HITS,
	PATH_MISSES,
	PATH_NEGATIVE,
	PATH_STORES,
	PATH_SERVES,
	PATH_EXPIRES,
	PATH_CLEARS,
	PATH_VALUES,
};

#define RANK_MAX_VALUES PATH_VALUES

struct rank_row {
	const char *name; /* [0..len) followed by a NUL: the metric, operation or path */
	size_t len;
	enum path_category category; /* of paths */
	struct decimal values[RANK_MAX_VALUES];
};

/* kind: before RANK_SUMMARY. text: [0..len) followed by a NUL; it is overwritten, and rows borrow
 * from it. Appends struct rank_row to ret. -EINVAL: "line N: reason"; -ENOMEM. */
int rank_file_parse(enum rank_file kind, char *text, size_t len, struct rows *ret,
		    struct err *e) MUST_CHECK;

#endif
