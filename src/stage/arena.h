/* SPDX-License-Identifier: MIT */
/*
 * arena: zeroed memory straight from the kernel, given back all at once.
 *
 * Not from malloc(): the heap that is measured must not change by being measured.
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
