/* SPDX-License-Identifier: MIT */
#include "preload/heap/small_blocks.h"

#include "preload/heap/pages.h"

small_branch *small_root[1 << SMALL_ROOT_BITS];

/* What another thread put there first stays. */
static void *publish(void *volatile *place, size_t bytes)
{
	void *fresh = pages_new(bytes), *there = NULL;

	if (!fresh)
		return NULL;
	if (__atomic_compare_exchange_n(place, &there, fresh, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return fresh;
	pages_free(fresh, bytes);
	return there;
}

uint32_t *small_make(uint64_t address)
{
	uint64_t at = address >> SMALL_SHIFT;
	uint64_t root = at >> (SMALL_LEAF_BITS + SMALL_BRANCH_BITS);
	small_branch *branch;
	small_leaf **place;

	if (root >> SMALL_ROOT_BITS)
		return NULL;
	branch = __atomic_load_n(&small_root[root], __ATOMIC_ACQUIRE);
	if (!branch)
		branch = publish((void *volatile *)&small_root[root], sizeof *branch);
	if (!branch)
		return NULL;
	place = &(*branch)[at >> SMALL_LEAF_BITS & ((1 << SMALL_BRANCH_BITS) - 1)];
	if (!__atomic_load_n(place, __ATOMIC_ACQUIRE) &&
	    !publish((void *volatile *)place, sizeof(small_leaf)))
		return NULL;
	return small_find(address);
}

static void release_branch(small_branch *branch)
{
	for (size_t i = 0; i < 1 << SMALL_BRANCH_BITS; i++)
		if ((*branch)[i])
			pages_free((*branch)[i], sizeof(small_leaf));
	pages_free(branch, sizeof *branch);
}

void small_release(void)
{
	for (size_t i = 0; i < 1 << SMALL_ROOT_BITS; i++) {
		if (small_root[i])
			release_branch(small_root[i]);
		small_root[i] = NULL;
	}
}
