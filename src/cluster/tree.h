/* SPDX-License-Identifier: MIT */
/*
 * tree: which rank requests from which, computed by every node alone from its rank and the number
 * of ranks.
 *
 * There are several trees over the same ranks. Each is k-ary in the order of positions: position 0
 * is the root, which reads storage, and position p has the parent (p - 1) / k. Tree i begins at
 * rank i * size / trees, so the inner nodes of one tree are leaves of the others: with as many
 * trees as the fan-out, each node sends about as much as it receives.
 *
 * A request belongs to one tree, chosen by path and chunk, and goes only to smaller positions of
 * it, so that requests never run in a circle, whatever each node believes about the others.
 */
#ifndef CLUSTER_TREE_H
#define CLUSTER_TREE_H

#include <stddef.h>
#include <stdint.h>

#define CLUSTER_NO_RANK UINT32_MAX
#define CLUSTER_ROUTE_MAX 24   /* ranks that a node tries before it reads storage itself */
#define CLUSTER_RANGE_CHUNKS 4 /* neighboring chunks of a file in one tree */

struct cluster_tree {
	uint32_t size;   /* ranks; > 0 */
	uint32_t fanout; /* children of a node; > 0 */
	uint32_t root;   /* the rank at position 0 */
};

/* size and fanout: at least 1. trees: 1 to size; tree: less than trees. */
struct cluster_tree cluster_tree_make(uint32_t size, uint32_t fanout, uint32_t trees,
				      uint32_t tree);

uint32_t cluster_tree_position(const struct cluster_tree *t, uint32_t rank); /* rank < size */
uint32_t cluster_tree_rank(const struct cluster_tree *t, uint32_t position); /* < size */
uint32_t cluster_tree_depth(const struct cluster_tree *t, uint32_t rank);    /* 0: the root */

/* CLUSTER_NO_RANK: the root has no parent; fewer children than i + 1. */
uint32_t cluster_tree_parent(const struct cluster_tree *t, uint32_t rank);
uint32_t cluster_tree_child(const struct cluster_tree *t, uint32_t rank, uint32_t i);

/*
 * The ranks from which rank requests, best first: parent, grandparent, some siblings of the
 * grandparent, the other ancestors, and the first positions in order, which succeed a dead root.
 * All have smaller positions. Returns how many; after the last one comes storage.
 */
size_t cluster_tree_route(const struct cluster_tree *t, uint32_t rank,
			  uint32_t ret[CLUSTER_ROUTE_MAX]);

/* A hash of the path that is the same on all nodes. */
uint64_t cluster_path_hash(const char *path, size_t len);

/* The tree of a chunk; of other requests, with chunk 0. */
uint32_t cluster_tree_of(uint64_t path_hash, uint32_t chunk, uint32_t trees);

#endif
