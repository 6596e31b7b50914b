/* SPDX-License-Identifier: MIT */
/*
 * ring: reads perf records from the ring buffer that the kernel writes.
 *
 * Records are read in place; only a record that wraps around the end is copied. ring_release()
 * gives the space of read records back to the kernel. Source: perf_event_open(2), "MMAP layout".
 */
#ifndef SAMPLE_RING_H
#define SAMPLE_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* All zero is a ring that is not open. */
struct ring {
	struct perf_event_mmap_page *page; /* the kernel's header page */
	const unsigned char *data;         /* [size] */
	uint64_t size;                     /* bytes, a power of two */
	uint64_t head, tail;    /* written by the kernel at the last refresh; read by us */
	unsigned char *scratch; /* [RECORD_MAX_BYTES]; owned */
};

/* bytes: a power of two of whole pages. 0 or -errno: -EPERM when the limit of locked memory is
 * reached. fd must live as long as the ring. */
int ring_open(struct ring *r, int fd, size_t bytes) MUST_CHECK;
void ring_close(struct ring *r);

/* Loads the kernel's write position. */
void ring_refresh(struct ring *r);

/* The next record, with its header, valid until ring_release(). false: none. */
bool ring_peek(struct ring *r, const unsigned char **ret_bytes, size_t *ret_len);
void ring_skip(struct ring *r, size_t len); /* consumes that record */
void ring_release(struct ring *r);

#endif
