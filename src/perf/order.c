/* SPDX-License-Identifier: MIT */
#include "perf/order.h"

#include <errno.h>
#include <stdlib.h>

void order_fini(struct order *o)
{
	free(o->heap);
	*o = (struct order){ 0 };
}

static bool is_before(const struct order_entry *a, const struct order_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->source < b->source;
}

static void swap(struct order_entry *a, struct order_entry *b)
{
	struct order_entry t = *a;

	*a = *b;
	*b = t;
}

static void sink(struct order *o, size_t i)
{
	for (;;) {
		size_t first = i, left = 2 * i + 1;

		for (size_t child = left; child < o->count && child <= left + 1; child++)
			if (is_before(&o->heap[child], &o->heap[first]))
				first = child;
		if (first == i)
			return;
		swap(&o->heap[i], &o->heap[first]);
		i = first;
	}
}

int order_put(struct order *o, uint32_t source, uint64_t time)
{
	size_t i = o->count;

	if (o->count == o->cap) {
		size_t cap = o->cap ? 2 * o->cap : 16;
		struct order_entry *heap = reallocarray(o->heap, cap, sizeof *heap);

		if (!heap)
			return -ENOMEM;
		o->heap = heap;
		o->cap = cap;
	}
	o->heap[o->count++] = (struct order_entry){ time, source };
	for (; i > 0 && is_before(&o->heap[i], &o->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&o->heap[i], &o->heap[(i - 1) / 2]);
	return 0;
}

bool order_first(const struct order *o, struct order_entry *ret)
{
	if (o->count == 0)
		return false;
	*ret = o->heap[0];
	return true;
}

void order_advance(struct order *o, uint64_t time)
{
	o->heap[0].time = time;
	sink(o, 0);
}

void order_drop(struct order *o)
{
	o->heap[0] = o->heap[--o->count];
	sink(o, 0);
}
