/* SPDX-License-Identifier: MIT */
/*
 * queue: holds samples for a reader, core by core, within one limit.
 *
 * When it is full, it drops and counts the newest sample as a whole: a reader never gets a part.
 */
#ifndef CTLFS_QUEUE_H
#define CTLFS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"

#define QUEUE_ALL SIZE_MAX /* instead of a core: all cores, oldest sample first */

/* The samples of one core; a ring of bytes. */
struct core_queue {
	char *data;     /* [cap]; owned */
	size_t cap;     /* 0 or a power of two */
	size_t head;    /* where the oldest sample begins */
	size_t len;     /* bytes in use */
	uint64_t count; /* samples in the queue */
	uint64_t dropped;
};

struct queue {
	struct core_queue *cores; /* [count]; owned */
	size_t count;
	uint64_t len, limit; /* bytes */
};

int queue_init(struct queue *q, size_t cores, uint64_t limit) MUST_CHECK; /* 0 or -ENOMEM */
void queue_fini(struct queue *q);
void queue_clear(struct queue *q); /* drops all samples without counting them */

/* Adds a sample of akaros_put_sample(). false: dropped and counted, for lack of space or memory. */
bool queue_put(struct queue *q, size_t core, const char *sample, size_t len);

/* Moves the oldest sample to the end of out; false: there is none. */
bool queue_take(struct queue *q, size_t core, struct buf *out);

uint64_t queue_len(const struct queue *q, size_t core); /* bytes in the queue */

#endif
