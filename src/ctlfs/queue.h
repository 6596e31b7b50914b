/* SPDX-License-Identifier: MIT */
/*
 * queue: whole samples that wait for a reader, core by core, within one limit.
 *
 * What does not fit is the newest sample, as a whole, and it is counted: what a reader gets is
 * never broken.
 */
#ifndef CTLFS_QUEUE_H
#define CTLFS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"

#define QUEUE_ALL SIZE_MAX /* in place of a core: of all, the oldest first */

/* Of one core; a ring of bytes. */
struct lane {
	char *data;     /* [cap]; owned */
	size_t cap;     /* 0 or a power of two */
	size_t head;    /* where the oldest sample begins */
	size_t len;     /* bytes in use */
	uint64_t count; /* samples that wait */
	uint64_t dropped;
};

struct queue {
	struct lane *lanes; /* [count]; owned */
	size_t count;
	uint64_t len, limit; /* bytes */
};

int queue_init(struct queue *q, size_t cores, uint64_t limit) MUST_CHECK; /* 0 or -ENOMEM */
void queue_fini(struct queue *q);
void queue_clear(struct queue *q); /* drops all that waits, without counting it */

/* A sample that akaros_put_sample() made. false: no room, or no memory; counted. */
bool queue_put(struct queue *q, size_t core, const char *sample, size_t len);

/* Moves the oldest sample to the end of out; false: there is none. */
bool queue_take(struct queue *q, size_t core, struct buf *out);

uint64_t queue_len(const struct queue *q, size_t core); /* bytes that wait */

#endif
