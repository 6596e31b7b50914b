/* SPDX-License-Identifier: MIT */
#include "cluster/tree.h"

#include <assert.h>
#include <stdbool.h>

/* Of each kind of replacement for dead ancestors. More do not help: then most nodes are gone. */
#define REPLACEMENTS 4

struct cluster_tree cluster_tree_make(uint32_t size, uint32_t fanout, uint32_t trees, uint32_t tree)
{
	assert(size > 0 && fanout > 0 && tree < trees && trees <= size);
	return (struct cluster_tree){
		.size = size,
		.fanout = fanout,
		.root = (uint32_t)((uint64_t)tree * size / trees),
	};
}

uint32_t cluster_tree_position(const struct cluster_tree *t, uint32_t rank)
{
	assert(rank < t->size);
	return rank >= t->root ? rank - t->root : t->size - t->root + rank;
}

uint32_t cluster_tree_rank(const struct cluster_tree *t, uint32_t position)
{
	assert(position < t->size);
	return (uint32_t)(((uint64_t)t->root + position) % t->size);
}

static uint32_t position_of_parent(const struct cluster_tree *t, uint32_t position)
{
	return (position - 1) / t->fanout;
}

uint32_t cluster_tree_depth(const struct cluster_tree *t, uint32_t rank)
{
	uint32_t depth = 0;

	for (uint32_t p = cluster_tree_position(t, rank); p; p = position_of_parent(t, p))
		depth++;
	return depth;
}

uint32_t cluster_tree_parent(const struct cluster_tree *t, uint32_t rank)
{
	uint32_t position = cluster_tree_position(t, rank);

	return position ? cluster_tree_rank(t, position_of_parent(t, position)) : CLUSTER_NO_RANK;
}

uint32_t cluster_tree_child(const struct cluster_tree *t, uint32_t rank, uint32_t i)
{
	uint64_t position = (uint64_t)cluster_tree_position(t, rank) * t->fanout + 1 + i;

	return i < t->fanout && position < t->size ? cluster_tree_rank(t, (uint32_t)position)
						   : CLUSTER_NO_RANK;
}

/* Positions while a route is made. */
struct route {
	uint32_t own;
	uint32_t positions[CLUSTER_ROUTE_MAX];
	size_t count;
};

static void add(struct route *r, uint32_t position)
{
	if (position >= r->own || r->count == CLUSTER_ROUTE_MAX)
		return;
	for (size_t i = 0; i < r->count; i++)
		if (r->positions[i] == position)
			return;
	r->positions[r->count++] = position;
}

/* The siblings after position, in a circle; each requester begins at another one. */
static void add_siblings(const struct cluster_tree *t, struct route *r, uint32_t position)
{
	uint64_t first;

	if (!position)
		return;
	first = (uint64_t)position_of_parent(t, position) * t->fanout + 1;
	for (uint32_t i = 0; i < t->fanout && i < REPLACEMENTS; i++) {
		uint64_t sibling = first + (r->own + i) % t->fanout;

		if (sibling != position && sibling < r->own)
			add(r, (uint32_t)sibling);
	}
}

size_t cluster_tree_route(const struct cluster_tree *t, uint32_t rank,
			  uint32_t ret[CLUSTER_ROUTE_MAX])
{
	struct route r = { .own = cluster_tree_position(t, rank) };
	uint32_t above;

	if (!r.own)
		return 0;
	above = position_of_parent(t, r.own);
	add(&r, above);
	if (above) {
		above = position_of_parent(t, above);
		add(&r, above);
		add_siblings(t, &r, above);
	}
	/* Leave room for the successors of the root. */
	while (above && r.count < CLUSTER_ROUTE_MAX - REPLACEMENTS - 1) {
		above = position_of_parent(t, above);
		add(&r, above);
	}
	for (uint32_t i = 0; i <= REPLACEMENTS; i++)
		add(&r, i);
	for (size_t i = 0; i < r.count; i++)
		ret[i] = cluster_tree_rank(t, r.positions[i]);
	return r.count;
}

/* FNV-1a. Source: http://www.isthe.com/chongo/tech/comp/fnv/ */
uint64_t cluster_path_hash(const char *path, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

uint32_t cluster_tree_of(uint64_t path_hash, uint32_t chunk, uint32_t trees)
{
	return (uint32_t)((path_hash % trees + chunk / CLUSTER_RANGE_CHUNKS) % trees);
}
