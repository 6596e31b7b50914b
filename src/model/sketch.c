/* SPDX-License-Identifier: MIT */
#include "model/sketch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUB_BITS 6 /* buckets of a power of two: 2^6 */
#define SUB_COUNT ((size_t)1 << SUB_BITS)

void sketch_fini(struct sketch *s)
{
	free(s->exact);
	free(s->bucket);
	*s = (struct sketch){ 0 };
}

/* Values below SUB_COUNT have a bucket each. */
static size_t bucket_of(int64_t value)
{
	uint64_t v = (uint64_t)value;
	unsigned shift;

	if (v < SUB_COUNT)
		return (size_t)v;
	shift = 63 - (unsigned)__builtin_clzll(v) - SUB_BITS;
	return SUB_COUNT * shift + (size_t)(v >> shift);
}

static int64_t middle_of(size_t bucket)
{
	unsigned shift;
	uint64_t low;

	if (bucket < SUB_COUNT)
		return (int64_t)bucket;
	shift = (unsigned)(bucket / SUB_COUNT) - 1;
	low = (uint64_t)(SUB_COUNT + bucket % SUB_COUNT) << shift;
	return (int64_t)(low + (UINT64_C(1) << shift) / 2);
}

/* Makes the buckets reach from first to last. */
static int widen(struct sketch *s, size_t first, size_t last)
{
	size_t count = last - first + 1;
	uint32_t *bucket = calloc(count, sizeof *bucket);

	if (!bucket)
		return -ENOMEM;
	if (s->bucket)
		memcpy(bucket + (s->first - first), s->bucket, s->bucket_count * sizeof *bucket);
	free(s->bucket);
	s->bucket = bucket;
	s->first = first;
	s->bucket_count = count;
	return 0;
}

static int count_value(struct sketch *s, int64_t value)
{
	size_t at = bucket_of(value), last;

	if (s->bucket && at >= s->first && at < s->first + s->bucket_count)
		goto count;
	last = s->bucket ? s->first + s->bucket_count - 1 : at;
	if (widen(s, s->bucket && s->first < at ? s->first : at, last > at ? last : at) < 0)
		return -ENOMEM;
count:
	if (s->bucket[at - s->first] < UINT32_MAX)
		s->bucket[at - s->first]++;
	return 0;
}

/* From values to buckets. */
static int spread(struct sketch *s)
{
	if (widen(s, bucket_of(s->min), bucket_of(s->max)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < SKETCH_EXACT; i++)
		s->bucket[bucket_of(s->exact[i]) - s->first]++;
	free(s->exact);
	s->exact = NULL;
	return 0;
}

/* Room doubles: 1, 2, 4, ... values. */
static int keep_value(struct sketch *s, int64_t value)
{
	size_t count = (size_t)s->count;

	if ((count & (count - 1)) == 0) {
		int64_t *exact = realloc(s->exact, (count ? 2 * count : 1) * sizeof *exact);

		if (!exact)
			return -ENOMEM;
		s->exact = exact;
	}
	s->exact[count] = value;
	return 0;
}

int sketch_add(struct sketch *s, int64_t value)
{
	int rc = 0;

	if (value < 0)
		value = 0;
	if (s->count == SKETCH_EXACT && s->exact)
		rc = spread(s);
	if (rc == 0)
		rc = s->bucket ? count_value(s, value) : keep_value(s, value);
	if (rc < 0)
		return rc;
	if (!s->count || value < s->min)
		s->min = value;
	if (!s->count || value > s->max)
		s->max = value;
	s->count++;
	return 0;
}

static int compare_values(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int64_t clamp(const struct sketch *s, int64_t value)
{
	return value < s->min ? s->min : value > s->max ? s->max : value;
}

int64_t sketch_quantile(const struct sketch *s, double q)
{
	double wanted = q * (double)s->count;
	uint64_t seen = 0, rank = (uint64_t)wanted;
	int64_t sorted[SKETCH_EXACT];

	if (!s->count)
		return 0;
	/* the rank of the value, from 1 */
	if ((double)rank < wanted || !rank)
		rank++;
	if (s->exact) {
		memcpy(sorted, s->exact, (size_t)s->count * sizeof *sorted);
		qsort(sorted, (size_t)s->count, sizeof *sorted, compare_values);
		return sorted[rank - 1];
	}
	if (rank >= s->count)
		return s->max;
	for (size_t i = 0; i < s->bucket_count; i++) {
		seen += s->bucket[i];
		if (seen >= rank)
			return clamp(s, middle_of(s->first + i));
	}
	return s->max;
}
