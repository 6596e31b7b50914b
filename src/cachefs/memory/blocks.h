/* SPDX-License-Identifier: MIT */
/*
 * blocks: memory in blocks of a power of two, BLOCK_MIN to BLOCK_MAX bytes, out of large mappings.
 *
 * A buddy allocator with its bookkeeping outside of the blocks. A mapping (a region) is made when
 * no free block fits, and is unmapped when all of its blocks are free, but for one that is kept for
 * the next caller. So there are at most as many mappings as blocks, and as a rule one for each
 * region_bytes. A block takes memory only where it was written, until blocks_discard.
 *
 * The caller has the lock, except of blocks_discard.
 */
#ifndef CACHEFS_MEMORY_BLOCKS_H
#define CACHEFS_MEMORY_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define BLOCK_MIN (UINT64_C(64) << 10)
#define BLOCK_ORDERS 5
#define BLOCK_MAX (BLOCK_MIN << (BLOCK_ORDERS - 1)) /* 1 MiB */

struct blocks {
	struct block *unused[BLOCK_ORDERS]; /* lists of unused blocks of BLOCK_MIN << i bytes */
	struct region *spare;               /* has no block in use; NULL: none */
	size_t region_bytes; /* a multiple of BLOCK_MAX; written before the first call */
	size_t regions;      /* mapped now */
};

struct block;

/* Of at least bytes <= BLOCK_MAX; it reads as zeros. NULL: out of memory, addresses or mappings. */
struct block *blocks_take(struct blocks *b, size_t bytes) MUST_CHECK;
/* After blocks_discard of all of it. */
void blocks_give(struct blocks *b, struct block *block);
char *block_bytes(const struct block *block);

/* Gives memory back to the system: whole pages, which read as zeros from then on. */
void blocks_discard(char *bytes, size_t len);

/* All blocks were given back. */
void blocks_fini(struct blocks *b);

#endif
