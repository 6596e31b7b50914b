/* SPDX-License-Identifier: MIT */
/*
 * arena: zeroed memory from mmap(2), freed all at once.
 *
 * It does not use malloc(), so that measuring does not change the measured heap.
 */
#ifndef STAGE_ARENA_H
#define STAGE_ARENA_H

#include <stddef.h>

/* Whole pages, zeroed, for munmap(). NULL: out of memory. */
void *pages_map(size_t size);

struct arena_block;

/* All zero is empty. The owner locks. */
struct arena {
	struct arena_block *blocks; /* newest first */
	size_t used;                /* bytes of the newest */
};

/* Aligned to 64 bytes. NULL: out of memory. */
void *arena_alloc(struct arena *a, size_t size);
void arena_fini(struct arena *a);

#endif
