/* SPDX-License-Identifier: MIT */
/*
 * rows: sums, maxima and a histogram of times for the calls of one stage.
 *
 * One thread writes a row; others copy it. A row of all zero is empty.
 */
#ifndef STAGE_ROWS_H
#define STAGE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "stage/costs.h"
#include "stage/macros.h"

/* Eight buckets for each power of two: values are exact to an eighth. */
#define HISTOGRAM_LEN 368

/* A maximum over calls. */
struct maximum {
	int64_t value;
	bool is_known;
	bool is_exact; /* otherwise a lower bound */
};

struct row {
	uint64_t calls;
	uint64_t first;              /* ticks at the first begin */
	int64_t total[COST_COUNT];   /* of all calls */
	int64_t inner[COST_COUNT];   /* part of total that stages inside cost */
	uint64_t wall_min, wall_max; /* ticks */
	struct maximum heap_peak;    /* bytes, absolute like the next two */
	struct maximum source_peak;  /* bytes */
	struct maximum rss_peak;     /* KiB */
	uint64_t errors;
	uint64_t open;    /* calls that have not ended; only in sums */
	uint64_t threads; /* that made calls; only in sums */
	uint64_t histogram[HISTOGRAM_LEN];
};

/* One call that ended. */
struct call {
	uint64_t begin;            /* ticks */
	uint32_t groups;           /* that are not all zero */
	int64_t total[COST_COUNT]; /* of these groups */
	uint32_t inner_groups;     /* of inner; 0: no stages inside */
	const int64_t *inner;      /* [COST_COUNT] */
	struct maximum heap_peak, source_peak, rss_peak;
};

void row_clear(struct row *row);

/* Copies a row that its thread may be writing. Fields of sums only are not touched. */
void row_copy(struct row *to, const struct row *from);

/* Adds another thread's row. threads is not touched. */
void row_add(struct row *to, const struct row *from);

/* The percentile (share 0..1) of the times of calls, in ticks. calls > 0. */
uint64_t row_percentile(const struct row *row, double share);

static inline unsigned row_bucket(uint64_t ticks)
{
	unsigned exponent, bucket;

	if (ticks < 8)
		return (unsigned)ticks;
	exponent = 63 - (unsigned)__builtin_clzll(ticks);
	bucket = (exponent - 2) << 3 | (unsigned)(ticks >> (exponent - 3) & 7);
	return bucket < HISTOGRAM_LEN ? bucket : HISTOGRAM_LEN - 1;
}

static inline void maximum_raise(struct maximum *to, struct maximum by)
{
	if (!by.is_known)
		return;
	if (!to->is_known || by.value > to->value) {
		STORE_RELEASE(to->value, by.value);
		STORE_RELEASE(to->is_exact, by.is_exact);
		STORE_RELEASE(to->is_known, true);
	} else if (by.value == to->value && by.is_exact) {
		STORE_RELEASE(to->is_exact, true);
	}
}

static ALWAYS_INLINE void row_add_call(struct row *row, const struct call *call, uint32_t groups)
{
	uint64_t wall = (uint64_t)call->total[COST_WALL];
	uint64_t *bucket = &row->histogram[row_bucket(wall)];

	if (!row->calls || call->begin < row->first)
		STORE_RELEASE(row->first, call->begin);
	if (!row->calls || wall < row->wall_min)
		STORE_RELEASE(row->wall_min, wall);
	if (wall > row->wall_max)
		STORE_RELEASE(row->wall_max, wall);
	STORE_RELEASE(row->calls, row->calls + 1);
	STORE_RELEASE(*bucket, *bucket + 1);
	costs_add(call->groups, row->total, call->total);
	if (call->inner_groups)
		costs_add(call->inner_groups, row->inner, call->inner);
	if (groups & GROUP_HEAP)
		maximum_raise(&row->heap_peak, call->heap_peak);
	if (LIKELY(!(groups & GROUPS_RARE)))
		return;
	if (groups & GROUP_SOURCE)
		maximum_raise(&row->source_peak, call->source_peak);
	if (groups & GROUP_PROCESS)
		maximum_raise(&row->rss_peak, call->rss_peak);
}

#endif
