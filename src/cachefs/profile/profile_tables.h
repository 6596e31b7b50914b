/* SPDX-License-Identifier: MIT */
/*
 * profile_tables: writes the CSV files of a rank: Copper's, column by column, and some of ours.
 *
 * All functions append to out, which remembers a failure. Column names have the units of times.
 * Percentiles are upper ends of histogram buckets, see metrics.h.
 * Source of profiling_operations, profiling_aggregate, profiling_top_paths: Copper's scripts, which
 * read them.
 */
#ifndef CACHEFS_PROFILE_PROFILE_TABLES_H
#define CACHEFS_PROFILE_PROFILE_TABLES_H

#include "base/buf.h"
#include "cachefs/profile/profile_facts.h"

void profile_put_operations(const struct profile_facts *f, struct buf *out);
void profile_put_aggregate(const struct profile_facts *f, struct buf *out);
int profile_put_top_paths(const struct profile_facts *f, struct buf *out) MUST_CHECK; /* -ENOMEM */

void profile_put_latency(const struct profile_facts *f, struct buf *out);
void profile_put_paths(const struct profile_facts *f, struct buf *out);
void profile_put_timeline(const struct timeline *t, struct buf *out);
void profile_put_usage(const struct profile_facts *f, struct buf *out);

/* The metrics of profiling_aggregate, in its order. */
enum profile_unit { PROFILE_COUNT, PROFILE_SECONDS, PROFILE_BYTES };
struct profile_metric {
	const char *name;
	const char *description; /* for the summary */
	enum profile_unit unit;
};
#define PROFILE_COPPER_METRICS 11 /* the first ones */
#define PROFILE_METRICS 22
extern const struct profile_metric profile_metrics[PROFILE_METRICS];
/* The bytes of the description: without " by Copper" at its end, where its wording is not wanted.
 */
size_t profile_metric_len(const struct profile_metric *m, bool is_copper);
/* ret: nanoseconds of PROFILE_SECONDS. */
void profile_metric_values(const struct profile_facts *f, uint64_t ret[PROFILE_METRICS]);

/* Sorts the rows with events of a class, most events first; PATH_CLASSES: events of negative
 * entries. The caller frees *ret. -ENOMEM. */
int profile_rank_paths(const struct profile_facts *f, enum path_class class,
		       const struct path_row ***ret, size_t *ret_count) MUST_CHECK;

#endif
