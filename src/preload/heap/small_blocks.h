/* SPDX-License-Identifier: MIT */
/*
 * small_blocks: sizes and sites of live blocks of less than 256 bytes: a word for each 32 bytes of
 * the heap, at a place that follows from the address.
 *
 * No locks and no searches: a block's word belongs to whoever owns the block. Memory is an eighth
 * of the heap's pages that have small blocks. What has no place here (two blocks in 32 bytes, large
 * site numbers, no memory) is the caller's business.
 */
#ifndef PRELOAD_HEAP_SMALL_BLOCKS_H
#define PRELOAD_HEAP_SMALL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMALL_SIZE_MAX 255                       /* bytes */
#define SMALL_SITE_MAX ((UINT32_C(1) << 22) - 1) /* and not 0 */

#define SMALL_SHIFT 5        /* addresses of a word */
#define SMALL_LEAF_BITS 17   /* words of a leaf: of 4 MiB */
#define SMALL_BRANCH_BITS 12 /* leaves of a branch: of 16 GiB */
#define SMALL_ROOT_BITS 13   /* branches: of 128 TiB, all of a process' addresses */

typedef uint32_t small_leaf[1 << SMALL_LEAF_BITS];
typedef small_leaf *small_branch[1 << SMALL_BRANCH_BITS];

extern small_branch *small_root[1 << SMALL_ROOT_BITS]; /* atomic; NULL: no blocks there */

/* site << 10 | (address / 8) % 4 << 8 | size; 0: no block. */
static inline uint32_t small_pack(uint64_t address, uint32_t site, uint32_t size)
{
	return site << 10 | (uint32_t)(address >> 3 & 3) << 8 | size;
}

static inline bool small_is_at(uint32_t word, uint64_t address)
{
	return word && (word >> 8 & 3) == (address >> 3 & 3);
}

/* The word of an address; NULL: none yet. */
static inline uint32_t *small_find(uint64_t address)
{
	uint64_t at = address >> SMALL_SHIFT;
	uint64_t root = at >> (SMALL_LEAF_BITS + SMALL_BRANCH_BITS);
	small_branch *branch;
	small_leaf *leaf;

	if (__builtin_expect(root >> SMALL_ROOT_BITS != 0, 0))
		return NULL;
	branch = __atomic_load_n(&small_root[root], __ATOMIC_ACQUIRE);
	if (__builtin_expect(!branch, 0))
		return NULL;
	leaf = __atomic_load_n(&(*branch)[at >> SMALL_LEAF_BITS & ((1 << SMALL_BRANCH_BITS) - 1)],
			       __ATOMIC_ACQUIRE);
	if (__builtin_expect(!leaf, 0))
		return NULL;
	return &(*leaf)[at & ((1 << SMALL_LEAF_BITS) - 1)];
}

/* The same, made if it is not there. NULL: no memory. */
uint32_t *small_make(uint64_t address);

/* Forgets all, where no thread uses them. */
void small_release(void);

#endif
