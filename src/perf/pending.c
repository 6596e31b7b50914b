/* SPDX-License-Identifier: MIT */
#include "perf/pending.h"

#include <stdlib.h>
#include <string.h>

struct pending_node {
	struct fifo_link link;
	struct pending_sample sample;
	size_t bytes;         /* of the whole node */
	unsigned char copy[]; /* an interpreter's frames, chain, registers, stack */
};

void pending_fini(struct pending *p)
{
	while (p->queue.first)
		pending_drop(p);
}

/* Copies [0..len) to *at and moves it on. */
static const unsigned char *keep(unsigned char **at, const unsigned char *bytes, size_t len)
{
	unsigned char *to = *at;

	if (len)
		memcpy(to, bytes, len);
	*at += len;
	return to;
}

struct pending_sample *pending_put(struct pending *p, const struct pending_sample *s)
{
	const struct record_sample *from = &s->record.sample;
	size_t chain = 8 * from->chain.count, regs = 8 * from->user.values.count;
	size_t interp = s->interp.count * sizeof *s->interp.frames;
	size_t bytes = sizeof(struct pending_node) + interp + chain + regs + from->stack.len;
	struct pending_node *node = malloc(bytes);
	struct record_sample *to;
	unsigned char *at;

	if (!node)
		return NULL;
	node->sample = *s;
	node->bytes = bytes;
	at = node->copy;
	to = &node->sample.record.sample;
	node->sample.interp.frames =
		(const void *)keep(&at, (const void *)s->interp.frames, interp);
	to->chain.bytes = keep(&at, from->chain.bytes, chain);
	to->user.values.bytes = keep(&at, from->user.values.bytes, regs);
	to->stack.bytes = keep(&at, from->stack.bytes, from->stack.len);
	maps_ref(s->maps);
	fifo_put(&p->queue, &node->link);
	p->count++;
	p->bytes += bytes;
	return &node->sample;
}

const struct pending_sample *pending_first(const struct pending *p)
{
	const struct pending_node *node = (const struct pending_node *)p->queue.first;

	return node ? &node->sample : NULL;
}

void pending_drop(struct pending *p)
{
	struct pending_node *node = (struct pending_node *)fifo_take(&p->queue);

	p->count--;
	p->bytes -= node->bytes;
	maps_unref(node->sample.maps);
	free(node);
}
