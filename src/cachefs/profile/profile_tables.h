/* SPDX-License-Identifier: MIT */
/*
 * profile_tables: the CSV files of a rank: Copper's, column by column, and some of our own for what
 * it does not tell.
 *
 * Source of profiling_operations, profiling_aggregate, profiling_top_paths: Copper, as its scripts
 * read them. Times are as their names say; percentiles are the upper ends of buckets of 1/8 of a
 * power of two. All append; failure is remembered in out.
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

/* The metrics of profiling_aggregate, in its order, with their words for people. */
enum profile_unit { PROFILE_COUNT, PROFILE_SECONDS, PROFILE_BYTES };
struct profile_metric {
	const char *name;
	const char *words;
	enum profile_unit unit;
	uint64_t value; /* nanoseconds of PROFILE_SECONDS */
};
#define PROFILE_COPPER_METRICS 11 /* the first ones */
#define PROFILE_METRICS 22
void profile_metrics(const struct profile_facts *f, struct profile_metric ret[PROFILE_METRICS]);

/* The rows with most events of a class first, PATH_CLASSES: of what was not there; *ret: the
 * caller's, to be freed. Rows without events are left out. -ENOMEM. */
int profile_rank_paths(const struct profile_facts *f, enum path_class class,
		       const struct path_row ***ret, size_t *ret_count) MUST_CHECK;

#endif
