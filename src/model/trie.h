/* SPDX-License-Identifier: MIT */
/*
 * trie: the calling contexts of a profile: nodes of (parent, location), each unique.
 *
 * Readers look up a node for each frame of each sample, so cache misses in the index dominate. The
 * index therefore holds ids only, 4 bytes a slot, and the nodes of a path, created one after the
 * other, are adjacent.
 */
#ifndef MODEL_TRIE_H
#define MODEL_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define TRIE_NONE UINT32_MAX /* no node: out of memory */

struct stack_node {
	uint32_t parent;   /* node id, nearer to the root */
	uint32_t location; /* id */
};

struct trie {
	struct stack_node *nodes; /* [count]; [0] is the root; owned */
	uint32_t *slots;          /* [slot_cap]: node id, 0: free; owned */
	size_t count, cap;
	size_t slot_cap; /* a power of two, more than 4/3 of count */
};

int trie_init(struct trie *t) MUST_CHECK; /* 0 or -ENOMEM */
void trie_fini(struct trie *t);

/* Fetches what trie_push() will need, without waiting for it. */
void trie_prepare(const struct trie *t, uint32_t parent, uint32_t location);

/* The node of location under parent; a new one has the largest id. */
uint32_t trie_push(struct trie *t, uint32_t parent, uint32_t location);

#endif
