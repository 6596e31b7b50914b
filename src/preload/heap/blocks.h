/* SPDX-License-Identifier: MIT */
/*
 * blocks: the live blocks of the process: their sizes and sites, by address.
 *
 * Small ones are in small_blocks, the rest in tables by regions of addresses, each with a lock: 16
 * bytes a block, and neighbors in memory are neighbors in the table. Allocates with mmap.
 */
#ifndef PRELOAD_HEAP_BLOCKS_H
#define PRELOAD_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCK_SIZE_MAX ((UINT64_C(1) << 40) - 1) /* larger ones count as so large */
#define BLOCK_WEIGHT_MAX ((UINT32_C(1) << 19) - 1)

struct block {
	uint64_t size;   /* bytes, as requested */
	uint32_t site;   /* of 24 bits */
	uint32_t weight; /* how many blocks it stands for; at least 1 */
};

/* Adds a block. There was one already (its end was not seen): true, and in *ret_old. A block that
 * there is no memory for is not added: its end will be that of an unknown one. */
bool blocks_put(const void *address, const struct block *block, struct block *ret_old);

/* Removes a block. false: there is none at address. */
bool blocks_take(const void *address, struct block *ret);

/* Around fork(), outside of hooks: the child's tables are whole. */
void blocks_lock_all(void);
void blocks_unlock_all(void);

/* For a child that came without that: tables that were in use are emptied. */
void blocks_repair(void);

/* Forgets all, where no thread uses them. */
void blocks_release(void);

#endif
