/* SPDX-License-Identifier: MIT */
/*
 * flame_side: one profile of a flame graph: the tree of the value, and the samples of each of its
 * nodes. A differential flame graph has two.
 */
#ifndef VIEW_FLAME_FLAME_SIDE_H
#define VIEW_FLAME_FLAME_SIDE_H

#include "view/tree.h"

struct flame_side {
	struct tree tree;
	struct tree samples;  /* no nodes: the value counts samples itself, or nothing does */
	uint32_t *samples_of; /* [tree.node_count]: node of samples, or MAP_NONE */
	bool counts_samples;  /* the value is the number of samples */
};

int flame_side_make(struct flame_side *ret, const struct profile *p, const struct tree_opts *o,
		    struct err *e) MUST_CHECK;
void flame_side_fini(struct flame_side *s);

/* How often a node was seen, with its callees or (is_self) without; -1: not known. */
int64_t flame_side_samples(const struct flame_side *s, uint32_t node, bool is_self);

#endif
