/* SPDX-License-Identifier: MIT */
/*
 * pymem: counts the bytes that the interpreter's allocators have given out, as tracemalloc does
 * (the requested sizes), but without tracebacks and at a few nanoseconds a block.
 *
 * Blocks from before counting began are unknown, and freeing them does not count. Counts are for
 * all threads of the process. All calls hold the GIL, but not the hooks.
 *
 * Source: PEP 445; the C API reference, "Customize Memory Allocators".
 */
#ifndef NATIVE_PYMEM_H
#define NATIVE_PYMEM_H

#include <stdbool.h>
#include <stdint.h>

/* A reader of the counts, with its own peak. In the caller's memory; all-zero is valid. */
struct pymem_reader {
	struct pymem_reader *next; /* in the list of started readers */
	int64_t peak;              /* bytes; before the last read by any reader */
	unsigned count; /* number of the count that it reads: lost hooks begin a new count */
};

/* The first reader starts counting from 0; the last one to stop ends it. */
void pymem_start(struct pymem_reader *reader);
void pymem_stop(struct pymem_reader *reader);

int64_t pymem_live(void); /* bytes allocated since counting began and not freed */

/* The largest pymem_live() since the last call for this reader, or since it started. */
int64_t pymem_take_peak(struct pymem_reader *reader);

extern unsigned pymem_count; /* the number of the running count */

/*
 * Another allocator hook may remove ours with its own (tracemalloc, started before us and stopped
 * after us). The next start notices that and begins a new count; true for readers of the old one.
 */
static inline bool pymem_is_stale(const struct pymem_reader *reader)
{
	return reader->count != pymem_count;
}

#endif
