/* SPDX-License-Identifier: MIT */
/*
 * rows: what the calls of one stage cost in sum, at most, and how their times are spread.
 *
 * One thread adds; others may read a copy. A row of all zero is empty.
 */
#ifndef STAGE_ROWS_H
#define STAGE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "stage/costs.h"
#include "stage/macros.h"

/* Times are counted in buckets of eight to the power of two: right to an eighth. */
#define SPREAD_LEN 368

/* A maximum over calls. */
struct extreme {
	int64_t value;
	bool is_known;
	bool is_exact; /* otherwise it was at least this */
};

struct row {
	uint64_t calls;
	uint64_t first;              /* ticks at the first begin */
	int64_t total[COST_COUNT];   /* of all calls */
	int64_t inner[COST_COUNT];   /* part of it, by the stages inside */
	uint64_t wall_min, wall_max; /* ticks */
	struct extreme heap_peak;    /* bytes, all absolute */
	struct extreme source_peak;  /* bytes */
	struct extreme rss_peak;     /* KiB */
	uint64_t errors;
	uint64_t open;    /* calls that have not ended; only in sums */
	uint64_t threads; /* that made calls; only in sums */
	uint64_t spread[SPREAD_LEN];
};

/* One call that ended. */
struct call {
	uint64_t begin;            /* ticks */
	uint32_t groups;           /* that are not all zero */
	int64_t total[COST_COUNT]; /* of these groups */
	uint32_t inner_groups;     /* of inner; 0: nothing inside */
	const int64_t *inner;      /* [COST_COUNT] */
	struct extreme heap_peak, source_peak, rss_peak;
};

void row_clear(struct row *row);

/* Copies fields that a thread may be writing to; those that are only in sums are not touched. */
void row_copy(struct row *to, const struct row *from);

/* Adds another thread's row. threads is not touched. */
void row_add(struct row *to, const struct row *from);

/* The time that this share (0..1) of the calls was not longer than, in ticks. calls > 0. */
uint64_t row_percentile(const struct row *row, double share);

static inline unsigned row_bucket(uint64_t ticks)
{
	unsigned exponent, bucket;

	if (ticks < 8)
		return (unsigned)ticks;
	exponent = 63 - (unsigned)__builtin_clzll(ticks);
	bucket = (exponent - 2) << 3 | (unsigned)(ticks >> (exponent - 3) & 7);
	return bucket < SPREAD_LEN ? bucket : SPREAD_LEN - 1;
}

static inline void extreme_raise(struct extreme *to, struct extreme by)
{
	if (!by.is_known)
		return;
	if (!to->is_known || by.value > to->value) {
		POKE(to->value, by.value);
		POKE(to->is_exact, by.is_exact);
		POKE(to->is_known, true);
	} else if (by.value == to->value && by.is_exact) {
		POKE(to->is_exact, true);
	}
}

static ALWAYS_INLINE void row_add_call(struct row *row, const struct call *call, uint32_t groups)
{
	uint64_t wall = (uint64_t)call->total[COST_WALL];
	uint64_t *bucket = &row->spread[row_bucket(wall)];

	if (!row->calls || call->begin < row->first)
		POKE(row->first, call->begin);
	if (!row->calls || wall < row->wall_min)
		POKE(row->wall_min, wall);
	if (wall > row->wall_max)
		POKE(row->wall_max, wall);
	POKE(row->calls, row->calls + 1);
	POKE(*bucket, *bucket + 1);
	costs_add(call->groups, row->total, call->total);
	if (call->inner_groups)
		costs_add(call->inner_groups, row->inner, call->inner);
	if (groups & GROUP_HEAP)
		extreme_raise(&row->heap_peak, call->heap_peak);
	if (LIKELY(!(groups & GROUPS_RARE)))
		return;
	if (groups & GROUP_SOURCE)
		extreme_raise(&row->source_peak, call->source_peak);
	if (groups & GROUP_PROCESS)
		extreme_raise(&row->rss_peak, call->rss_peak);
}

#endif
