/* SPDX-License-Identifier: MIT */
/*
 * trie: the calling contexts of a profile: nodes of (parent, location), each there once.
 *
 * Readers look up a node for each frame of each sample, so the index is what they wait for.
 * Nodes of a path are made one after the other: the children of neighbouring parents share a
 * line of the cache, and a path of 20 frames touches 5 lines of it instead of 20. Parents with
 * more children than fit spread them over the whole index.
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

enum { TRIE_LINE_SLOTS = 8 };

struct trie_slot {
	uint32_t node; /* id, 0: free */
	uint32_t tag;  /* bits of the key's hash: few wrong nodes are looked at */
};

struct trie_line {
	struct trie_slot slots[TRIE_LINE_SLOTS]; /* free ones behind used ones */
};

struct trie {
	struct stack_node *nodes; /* [count]; [0] is the root; owned */
	struct trie_line *lines;  /* [line_count], aligned to their size; owned */
	size_t count, cap;
	size_t line_count; /* a power of two */
};

int trie_init(struct trie *t) MUST_CHECK; /* 0 or -ENOMEM */
void trie_fini(struct trie *t);

/* The node of location under parent; a new one has the largest id. */
uint32_t trie_push(struct trie *t, uint32_t parent, uint32_t location);

#endif
