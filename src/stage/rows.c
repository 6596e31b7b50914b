/* SPDX-License-Identifier: MIT */
#include "stage/rows.h"

#include <stddef.h>

#include "stage/macros.h"

static uint64_t bucket_start(unsigned bucket)
{
	return bucket < 8 ? bucket : (uint64_t)(8 | (bucket & 7)) << ((bucket >> 3) - 1);
}

typedef uint64_t __attribute__((may_alias)) word;
_Static_assert(sizeof(struct row) % sizeof(word) == 0, "whole words");

void row_clear(struct row *row)
{
	word *words = (word *)row;

	for (size_t i = 0; i < sizeof *row / sizeof *words; i++)
		STORE_RELEASE(words[i], 0);
}

static void copy_extreme(struct maximum *to, const struct maximum *from)
{
	to->value = LOAD_ACQUIRE(from->value);
	to->is_known = LOAD_ACQUIRE(from->is_known);
	to->is_exact = LOAD_ACQUIRE(from->is_exact);
}

void row_copy(struct row *to, const struct row *from)
{
	to->calls = LOAD_ACQUIRE(from->calls);
	to->first = LOAD_ACQUIRE(from->first);
	for (int i = 0; i < COST_COUNT; i++) {
		to->total[i] = LOAD_ACQUIRE(from->total[i]);
		to->inner[i] = LOAD_ACQUIRE(from->inner[i]);
	}
	to->wall_min = LOAD_ACQUIRE(from->wall_min);
	to->wall_max = LOAD_ACQUIRE(from->wall_max);
	copy_extreme(&to->heap_peak, &from->heap_peak);
	copy_extreme(&to->source_peak, &from->source_peak);
	copy_extreme(&to->rss_peak, &from->rss_peak);
	to->errors = LOAD_ACQUIRE(from->errors);
	for (unsigned i = 0; i < HISTOGRAM_LEN; i++)
		to->histogram[i] = LOAD_ACQUIRE(from->histogram[i]);
}

void row_add(struct row *to, const struct row *from)
{
	if (from->calls) {
		if (!to->calls || from->first < to->first)
			to->first = from->first;
		if (!to->calls || from->wall_min < to->wall_min)
			to->wall_min = from->wall_min;
		if (from->wall_max > to->wall_max)
			to->wall_max = from->wall_max;
	}
	to->calls += from->calls;
	for (int i = 0; i < COST_COUNT; i++) {
		to->total[i] += from->total[i];
		to->inner[i] += from->inner[i];
	}
	maximum_raise(&to->heap_peak, from->heap_peak);
	maximum_raise(&to->source_peak, from->source_peak);
	maximum_raise(&to->rss_peak, from->rss_peak);
	to->errors += from->errors;
	to->open += from->open;
	for (unsigned i = 0; i < HISTOGRAM_LEN; i++)
		to->histogram[i] += from->histogram[i];
}

/* Assumes that the calls of a bucket are spread evenly over it. */
uint64_t row_percentile(const struct row *row, double share)
{
	double rank = share * (double)row->calls;
	uint64_t passed = 0;

	for (unsigned i = 0; i < HISTOGRAM_LEN; i++) {
		uint64_t in = row->histogram[i];

		if (in && (double)(passed + in) >= rank) {
			double start = (double)bucket_start(i);
			double width = (double)bucket_start(i + 1) - start;
			uint64_t ticks =
				(uint64_t)(start + width * (rank - (double)passed) / (double)in);

			if (ticks < row->wall_min)
				return row->wall_min;
			return ticks > row->wall_max ? row->wall_max : ticks;
		}
		passed += in;
	}
	return row->wall_max;
}
