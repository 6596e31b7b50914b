/* SPDX-License-Identifier: MIT */
/*
 * page_tree: the calling-context tree of a page in pre-order, and the values of its nodes.
 *
 * The callees of a node are in order of their totals in one sample type, the largest first; ties by
 * the first appearance. An entry is a node with a label set: a node has as many entries as its
 * samples have distinct label sets.
 */
#ifndef VIEW_PAGE_PAGE_TREE_H
#define VIEW_PAGE_PAGE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/profile.h"
#include "view/tree.h"

struct page_entry {
	uint32_t place;  /* of the node, in pre-order */
	uint32_t labels; /* label-set id */
	uint32_t sample; /* index of one of its samples; the others are the entries behind it with
			  * the same place and labels */
};

struct page_tree {
	struct tree tree;
	uint32_t *order;            /* [tree.node_count]: nodes in pre-order, the root first */
	uint32_t *place;            /* [tree.node_count]: the place of each node in order */
	struct page_entry *entries; /* [entry_count]: one a sample, by place, labels, sample */
	size_t entry_count;
};

/* type: what the callees are ordered by. */
int page_tree_make(struct page_tree *ret, const struct profile *p, size_t type,
		   struct err *e) MUST_CHECK;
void page_tree_fini(struct page_tree *t);

#endif
