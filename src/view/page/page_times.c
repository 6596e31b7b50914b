/* SPDX-License-Identifier: MIT */
#include "view/page/page_times.h"

#include <stdlib.h>

#include "base/map.h"

/* The entries of the page, by number as they are written. */
struct numbers {
	uint32_t *of_sample; /* [sample count of the profile]: entry */
	uint32_t *uses;      /* [count]: timed values of each entry; then its place in by_use */
	uint32_t *by_use;    /* [count]: entries, the most used first */
	size_t count;
};

static void numbers_fini(struct numbers *n)
{
	free(n->of_sample);
	free(n->uses);
	free(n->by_use);
}

static int number_entries(struct numbers *n, const struct profile *p, const struct page_tree *t)
{
	n->of_sample = calloc(profile_sample_count(p) + 1, sizeof *n->of_sample);
	n->uses = calloc(t->entry_count + 1, sizeof *n->uses);
	n->by_use = calloc(t->entry_count + 1, sizeof *n->by_use);
	if (!n->of_sample || !n->uses || !n->by_use)
		return -1;
	for (size_t i = 0; i < t->entry_count; i++) {
		const struct page_entry *e = &t->entries[i];

		n->count += i == 0 || e[-1].place != e->place || e[-1].labels != e->labels;
		n->of_sample[e->sample] = (uint32_t)n->count - 1;
	}
	return 0;
}

static int compare_uses(const void *left, const void *right, void *uses)
{
	const uint32_t *a = left, *b = right, *of = uses;
	int order = (of[*a] < of[*b]) - (of[*a] > of[*b]);

	return order ? order : (*a > *b) - (*a < *b);
}

/* Counts how often each entry is used, and gives small numbers to those that are used most. */
static void rank_entries(struct numbers *n, const struct profile *p, struct page_block *b)
{
	const struct sample_times *t = profile_get_times(p);
	size_t used = 0;

	for (size_t i = 0; i < t->entries.count; i++) {
		const struct timed_value *v = sample_times_at(t, i);
		uint32_t sample = profile_find_sample(p, v->node, v->labels);

		if (sample != MAP_NONE)
			n->uses[n->of_sample[sample]]++;
	}
	for (uint32_t i = 0; i < n->count; i++)
		if (n->uses[i])
			n->by_use[used++] = i;
	qsort_r(n->by_use, used, sizeof *n->by_use, compare_uses, n->uses);
	for (uint32_t i = 0; i < used; i++) {
		n->uses[n->by_use[i]] = i;
		buf_put_varint(&b->columns[PAGE_TIME_USED], n->by_use[i]);
	}
}

static bool is_same_track(const struct timed_value *a, const struct timed_value *b)
{
	return a->labels == b->labels && a->type == b->type;
}

/* Entries [first..end) of one track. */
static void put_track(const struct profile *p, const struct numbers *n, size_t first, size_t end,
		      struct page_block *b)
{
	const struct sample_times *t = profile_get_times(p);
	uint64_t value = 0, count = 0;
	uint32_t bucket = 0;

	for (size_t i = first; i < end; i++) {
		const struct timed_value *v = sample_times_at(t, i);
		uint32_t sample = profile_find_sample(p, v->node, v->labels);
		uint64_t step = (uint64_t)v->value - value;

		if (sample == MAP_NONE)
			continue;
		buf_put_varint(&b->columns[PAGE_TIME_BUCKET], v->bucket - bucket);
		buf_put_varint(&b->columns[PAGE_TIME_ENTRY], n->uses[n->of_sample[sample]]);
		buf_put_varint(&b->columns[PAGE_TIME_VALUE], step << 1 ^ (0 - (step >> 63)));
		bucket = v->bucket;
		value = (uint64_t)v->value;
		count++;
	}
	if (!count)
		return;
	buf_put_varint(&b->columns[PAGE_TIME_TYPE], sample_times_at(t, first)->type);
	buf_put_varint(&b->columns[PAGE_TIME_COUNT], count);
}

int page_times_put(struct page_block *b, const struct profile *p, const struct page_tree *t,
		   struct err *e)
{
	CLEANUP(numbers_fini) struct numbers numbers = { 0 };
	const struct sample_times *times = profile_get_times(p);
	size_t end;

	if (!times->entries.count)
		return 0;
	if (number_entries(&numbers, p, t) < 0)
		return err_nomem(e);
	rank_entries(&numbers, p, b);
	for (size_t i = 0; i < times->entries.count; i = end) {
		for (end = i + 1;
		     end < times->entries.count &&
		     is_same_track(sample_times_at(times, i), sample_times_at(times, end));)
			end++;
		put_track(p, &numbers, i, end, b);
	}
	return 0;
}
