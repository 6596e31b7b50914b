/* SPDX-License-Identifier: MIT */
#include "ctlfs/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define FIRST_CAP ((size_t)64 << 10)
#define KEPT_BYTES ((size_t)1 << 20) /* capacity kept by an empty core; more is freed */
#define HEADER_BYTES 16
#define WORD_BYTES 8

int queue_init(struct queue *q, size_t cores, uint64_t limit)
{
	*q = (struct queue){ .cores = calloc(cores, sizeof *q->cores),
			     .count = cores,
			     .limit = limit };
	return q->cores ? 0 : -ENOMEM;
}

void queue_fini(struct queue *q)
{
	for (size_t i = 0; q->cores && i < q->count; i++)
		free(q->cores[i].data);
	free(q->cores);
	*q = (struct queue){ 0 };
}

static void empty_core(struct core_queue *l)
{
	if (l->cap > KEPT_BYTES) {
		free(l->data);
		l->data = NULL;
		l->cap = 0;
	}
	l->head = l->len = 0;
	l->count = 0;
}

void queue_clear(struct queue *q)
{
	for (size_t i = 0; i < q->count; i++)
		empty_core(&q->cores[i]);
	q->len = 0;
}

static void copy_out(const struct core_queue *l, size_t at, char *to, size_t len)
{
	size_t from = (l->head + at) & (l->cap - 1), first = l->cap - from;

	if (first > len)
		first = len;
	memcpy(to, l->data + from, first);
	memcpy(to + first, l->data, len - first);
}

static bool grow(struct core_queue *l)
{
	size_t cap = l->cap ? 2 * l->cap : FIRST_CAP;
	char *data = malloc(cap);

	if (!data)
		return false;
	if (l->cap)
		copy_out(l, 0, data, l->len);
	free(l->data);
	l->data = data;
	l->cap = cap;
	l->head = 0;
	return true;
}

bool queue_put(struct queue *q, size_t core, const char *sample, size_t len)
{
	struct core_queue *l = &q->cores[core];
	size_t at, first;

	if (len > q->limit || q->len > q->limit - len || (l->cap - l->len < len && !grow(l))) {
		l->dropped++;
		return false;
	}
	at = (l->head + l->len) & (l->cap - 1);
	first = l->cap - at < len ? l->cap - at : len;
	memcpy(l->data + at, sample, first);
	memcpy(l->data, sample + first, len - first);
	l->len += len;
	l->count++;
	q->len += len;
	return true;
}

/* The header word and the time of the oldest sample. */
static void peek(const struct core_queue *l, uint64_t *ret_word, uint64_t *ret_ns)
{
	char header[HEADER_BYTES];
	struct cursor c;

	copy_out(l, 0, header, sizeof header);
	c = cursor_make(header, sizeof header);
	*ret_word = cursor_u64(&c);
	*ret_ns = cursor_u64(&c);
}

/* QUEUE_ALL: the queue is empty. */
static size_t find_oldest(const struct queue *q)
{
	size_t oldest = QUEUE_ALL;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < q->count; i++) {
		uint64_t word, ns;

		if (!q->cores[i].len)
			continue;
		peek(&q->cores[i], &word, &ns);
		if (oldest == QUEUE_ALL || ns < least) {
			oldest = i;
			least = ns;
		}
	}
	return oldest;
}

bool queue_take(struct queue *q, size_t core, struct buf *out)
{
	struct core_queue *l;
	uint64_t word, ns;
	size_t len;
	char *to;

	if (core == QUEUE_ALL)
		core = find_oldest(q);
	if (core == QUEUE_ALL || !q->cores[core].len)
		return false;
	l = &q->cores[core];
	peek(l, &word, &ns);
	len = HEADER_BYTES + WORD_BYTES * (word & 0xff);
	to = buf_reserve(out, len);
	if (!to)
		return false;
	copy_out(l, 0, to, len);
	buf_grew(out, len);
	l->head = (l->head + len) & (l->cap - 1);
	l->len -= len;
	l->count--;
	q->len -= len;
	if (!l->len)
		empty_core(l);
	return true;
}

uint64_t queue_len(const struct queue *q, size_t core)
{
	return core == QUEUE_ALL ? q->len : q->cores[core].len;
}
