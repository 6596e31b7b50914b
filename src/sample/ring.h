/* SPDX-License-Identifier: MIT */
/*
 * ring: the memory that the kernel writes perf records to and we read them from.
 *
 * Records are read where they lie; only one that goes over the end of the ring is copied.
 * What was read is the kernel's again after ring_release().
 * Source: perf_event_open(2), "MMAP layout".
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
	uint64_t head, tail;               /* what is known to be written; what was read */
	unsigned char *scratch;            /* [RECORD_MAX_BYTES]; owned */
};

/* bytes: a power of two of whole pages. 0 or -errno: -EPERM when the memory that may be
 * locked is used up. fd must live as long as the ring. */
int ring_open(struct ring *r, int fd, size_t bytes) MUST_CHECK;
void ring_close(struct ring *r);

/* Sees what the kernel has written so far. */
void ring_refresh(struct ring *r);

/* The next record that was seen: header and all, valid until ring_release(). false: there is
 * none. */
bool ring_peek(struct ring *r, const unsigned char **ret_bytes, size_t *ret_len);
void ring_skip(struct ring *r, size_t len); /* that record is read */
void ring_release(struct ring *r);

#endif
