/* SPDX-License-Identifier: MIT */
#include "model/sample_times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

void sample_times_fini(struct sample_times *t)
{
	rows_fini(&t->entries);
	*t = (struct sample_times){ 0 };
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_entries(const void *left, const void *right)
{
	const struct timed_value *a = left, *b = right;
	int order = compare_u32(a->labels, b->labels);

	if (!order)
		order = compare_u32(a->type, b->type);
	if (!order)
		order = compare_u32(a->bucket, b->bucket);
	if (!order)
		order = compare_u32(a->node, b->node);
	return order ? order : compare_u32(a->is_joined, b->is_joined);
}

void sample_times_settle(struct sample_times *t)
{
	struct timed_value *all = t->entries.data;
	size_t kept = 0;

	if (!t->entries.count)
		return;
	qsort(all, t->entries.count, sizeof *all, compare_entries);
	for (size_t i = 1; i < t->entries.count; i++) {
		if (compare_entries(&all[kept], &all[i]) == 0)
			number_add(&all[kept].value, all[i].value);
		else
			all[++kept] = all[i];
	}
	t->entries.count = kept + 1;
}

static void widen(struct sample_times *t)
{
	for (size_t i = 0; i < t->entries.count; i++)
		sample_times_at(t, i)->bucket /= 2;
	t->bucket_ns *= 2;
	sample_times_settle(t);
}

/* Xorshift. Source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
static uint64_t next_random(struct sample_times *t)
{
	uint64_t x = t->random ? t->random : UINT64_C(0x9e3779b97f4a7c15);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	t->random = x;
	return x;
}

static uint64_t weight(int64_t value)
{
	return (value < 0 ? 0 - (uint64_t)value : (uint64_t)value) >>
	       1; /* two have room for a sum */
}

static struct timed_value merge_pair(struct sample_times *t, const struct timed_value *a,
				     const struct timed_value *b)
{
	uint64_t all = weight(a->value) + weight(b->value);
	struct timed_value merged = all && next_random(t) % all >= weight(a->value) ? *b : *a;

	merged.value = a->value;
	number_add(&merged.value, b->value);
	return merged;
}

/* Settled entries: pairs of one bucket, type and label set become one. */
static void thin(struct sample_times *t)
{
	struct timed_value *all = t->entries.data;
	size_t kept = 0;

	for (size_t i = 0; i < t->entries.count; i++) {
		const struct timed_value *a = &all[i], *b = a + 1;

		if (i + 1 < t->entries.count && a->labels == b->labels && a->type == b->type &&
		    a->bucket == b->bucket) {
			all[kept++] = merge_pair(t, a, b);
			t->is_thinned = true;
			i++;
		} else {
			all[kept++] = *a;
		}
	}
	t->entries.count = kept;
}

static uint32_t last_bucket(const struct sample_times *t)
{
	uint32_t last = 0;

	for (size_t i = 0; i < t->entries.count; i++)
		if (sample_times_at(t, i)->bucket > last)
			last = sample_times_at(t, i)->bucket;
	return last;
}

/* To half of the bound, so that it is long until the next time. */
static void shrink(struct sample_times *t)
{
	sample_times_settle(t);
	while (t->entries.count > SAMPLE_TIMES_MAX_ENTRIES / 2) {
		uint32_t last = last_bucket(t);
		size_t before = t->entries.count;

		if (last <= SAMPLE_TIMES_FINE_BUCKETS)
			thin(t);
		if (last > SAMPLE_TIMES_FINE_BUCKETS || (t->entries.count > before / 4 * 3 && last))
			widen(t);
		if (!last && t->entries.count == before) {
			sample_times_fini(t);
			t->is_dropped = true;
		}
	}
}

int sample_times_add(struct sample_times *t, uint64_t time_ns, const struct timed_value *e)
{
	struct timed_value *row;
	uint64_t bucket;

	if (t->is_dropped)
		return 0;
	if (!t->bucket_ns) {
		t->bucket_ns = SAMPLE_TIMES_FIRST_BUCKET_NS;
		t->start_ns = time_ns;
	}
	if (t->entries.count == SAMPLE_TIMES_MAX_ENTRIES)
		shrink(t);
	if (t->is_dropped)
		return 0;
	time_ns = time_ns > t->start_ns ? time_ns - t->start_ns : 0;
	while ((bucket = time_ns / t->bucket_ns) > UINT32_MAX)
		widen(t);
	row = rows_add(&t->entries, sizeof *row);
	if (!row)
		return -ENOMEM;
	*row = *e;
	row->bucket = (uint32_t)bucket;
	return 0;
}
