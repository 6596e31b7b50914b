/* SPDX-License-Identifier: MIT */
#include "format/perfdata/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct perfdata_block *perfdata_block_new(size_t cap)
{
	struct perfdata_block *b = malloc(sizeof *b + cap);

	if (b)
		*b = (struct perfdata_block){ .refs = 1, .cap = cap };
	return b;
}

void perfdata_block_unref(struct perfdata_block *b)
{
	if (b && --b->refs == 0)
		free(b);
}

void perfdata_queue_fini(struct perfdata_queue *q)
{
	for (size_t i = q->first; i < q->count; i++)
		perfdata_block_unref(q->list[i].block);
	perfdata_block_unref(q->taken);
	free(q->list);
	*q = (struct perfdata_queue){ 0 };
}

int perfdata_queue_put(struct perfdata_queue *q, uint64_t time, const unsigned char *bytes,
		       struct perfdata_block *block)
{
	if (q->count == q->cap) {
		size_t cap = q->cap ? 2 * q->cap : 1024;
		struct perfdata_record *list = reallocarray(q->list, cap, sizeof *list);

		if (!list)
			return -ENOMEM;
		q->list = list;
		q->cap = cap;
	}
	q->list[q->count++] = (struct perfdata_record){ time, q->next_number++, bytes, block };
	if (block)
		block->refs++;
	if (time > q->latest)
		q->latest = time;
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct perfdata_record *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void sort(struct perfdata_queue *q)
{
	q->count -= q->first;
	if (q->count) {
		memmove(q->list, q->list + q->first, q->count * sizeof *q->list);
		qsort(q->list, q->count, sizeof *q->list, compare);
	}
	q->first = 0;
}

void perfdata_queue_end_round(struct perfdata_queue *q)
{
	sort(q);
	q->settled = q->round_latest;
	q->round_latest = q->latest;
}

void perfdata_queue_end(struct perfdata_queue *q)
{
	sort(q);
	q->settled = UINT64_MAX;
}

bool perfdata_queue_take(struct perfdata_queue *q, struct perfdata_record *ret)
{
	perfdata_block_unref(q->taken);
	q->taken = NULL;
	if (q->first == q->count || q->list[q->first].time > q->settled)
		return false;
	*ret = q->list[q->first++];
	q->taken = ret->block;
	return true;
}

const unsigned char *perfdata_queue_oldest(const struct perfdata_queue *q)
{
	const unsigned char *oldest = NULL;

	for (size_t i = q->first; i < q->count; i++)
		if (!q->list[i].block && (!oldest || q->list[i].bytes < oldest))
			oldest = q->list[i].bytes;
	return oldest;
}
