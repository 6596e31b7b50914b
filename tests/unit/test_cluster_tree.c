/* SPDX-License-Identifier: MIT */
#include "cluster/tree.h"

#include "base/macros.h"
#include "tap.h"

static const uint32_t sizes[] = { 1, 2, 3, 5, 9, 64, 100, 341, 1000, 4097 };
static const uint32_t fanouts[] = { 1, 2, 3, 4, 8, 62 };

/* The cases of all tests below: each size with each fan-out and some numbers of trees. */
static void for_each_tree(void (*check)(const struct cluster_tree *t))
{
	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		for (size_t f = 0; f < ARRAY_LEN(fanouts); f++) {
			uint32_t trees = fanouts[f] < sizes[s] ? fanouts[f] : sizes[s];

			for (uint32_t i = 0; i < trees; i += 1 + trees / 3) {
				struct cluster_tree t =
					cluster_tree_make(sizes[s], fanouts[f], trees, i);

				check(&t);
			}
		}
	}
}

static void check_family(const struct cluster_tree *t)
{
	uint32_t children = 0;

	for (uint32_t rank = 0; rank < t->size; rank++) {
		uint32_t position = cluster_tree_position(t, rank), child;

		CHECK(cluster_tree_rank(t, position) == rank);
		CHECK((cluster_tree_parent(t, rank) == CLUSTER_NO_RANK) == (rank == t->root));
		CHECK(cluster_tree_child(t, rank, t->fanout) == CLUSTER_NO_RANK);
		for (uint32_t i = 0; i < t->fanout; i++) {
			child = cluster_tree_child(t, rank, i);
			if (child == CLUSTER_NO_RANK)
				continue;
			children++;
			CHECK(cluster_tree_parent(t, child) == rank);
		}
	}
	CHECK_INT(children, t->size - 1);
}

static void test_each_node_is_one_child(void)
{
	for_each_tree(check_family);
}

static void check_depth(const struct cluster_tree *t)
{
	uint64_t level = 1, reached = 1;
	uint32_t depth = 0, last = cluster_tree_rank(t, t->size - 1);

	while (reached < t->size) {
		level *= t->fanout;
		reached += level;
		depth++;
	}
	CHECK_INT(cluster_tree_depth(t, last), depth);
	CHECK_INT(cluster_tree_depth(t, t->root), 0);
}

static void test_depth_is_the_least(void)
{
	for_each_tree(check_depth);
}

static void check_routes(const struct cluster_tree *t)
{
	uint32_t route[CLUSTER_ROUTE_MAX];

	for (uint32_t rank = 0; rank < t->size; rank++) {
		uint32_t own = cluster_tree_position(t, rank);
		size_t count = cluster_tree_route(t, rank, route);

		CHECK_INT(count > 0, own > 0);
		if (own)
			CHECK_INT(route[0], cluster_tree_parent(t, rank));
		for (size_t i = 0; i < count; i++) {
			CHECK(cluster_tree_position(t, route[i]) < own);
			for (size_t k = 0; k < i; k++)
				CHECK(route[k] != route[i]);
		}
	}
}

static void test_routes_only_go_to_smaller_positions(void)
{
	for_each_tree(check_routes);
}

static void test_route_order(void)
{
	static const struct {
		uint32_t size, fanout, rank;
		uint32_t route[CLUSTER_ROUTE_MAX];
		size_t count;
	} rows[] = {
		{ 100, 3, 0, { 0 }, 0 },
		/* A dead root: the first child succeeds it, and the others turn to that one. */
		{ 100, 3, 1, { 0 }, 1 },
		{ 100, 3, 3, { 0, 1, 2 }, 3 },
		/* Parent, grandparent (the root), its successors. */
		{ 100, 3, 8, { 2, 0, 1, 3, 4 }, 5 },
		/* Parent, grandparent, its siblings, the root, more successors. */
		{ 100, 3, 40, { 13, 4, 5, 6, 1, 0, 2, 3 }, 8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cluster_tree t = cluster_tree_make(rows[i].size, rows[i].fanout, 1, 0);
		uint32_t route[CLUSTER_ROUTE_MAX];
		size_t count = cluster_tree_route(&t, rows[i].rank, route);

		if (CHECK_INT(count, rows[i].count))
			for (size_t k = 0; k < count; k++)
				CHECK_INT(route[k], rows[i].route[k]);
	}
}

/* With as many trees as children, each node serves about what it gets. */
static void test_load_is_even(void)
{
	for (size_t s = 4; s < ARRAY_LEN(sizes); s++) {
		for (uint32_t fanout = 2; fanout <= 8; fanout++) {
			uint32_t most = 0;

			for (uint32_t rank = 0; rank < sizes[s]; rank++) {
				uint32_t served = 0;

				for (uint32_t i = 0; i < fanout; i++) {
					struct cluster_tree t =
						cluster_tree_make(sizes[s], fanout, fanout, i);

					for (uint32_t k = 0; k < fanout; k++)
						served += cluster_tree_child(&t, rank, k) !=
							  CLUSTER_NO_RANK;
				}
				most = served > most ? served : most;
			}
			/* fanout trees: served is in units of 1 / fanout of the data */
			CHECK(most <= 2 * fanout);
		}
	}
}

static void test_ranges_go_around(void)
{
	uint64_t hash = cluster_path_hash("a/b", 3);
	uint32_t counts[4] = { 0 };

	for (uint32_t chunk = 0; chunk < 4 * 4 * CLUSTER_RANGE_CHUNKS; chunk++)
		counts[cluster_tree_of(hash, chunk, 4)]++;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		CHECK_INT(counts[i], 4 * CLUSTER_RANGE_CHUNKS);
	CHECK_INT(cluster_tree_of(hash, 0, 4), cluster_tree_of(hash, CLUSTER_RANGE_CHUNKS - 1, 4));
	CHECK(cluster_tree_of(hash, UINT32_MAX, UINT32_MAX) < UINT32_MAX);
	/* All nodes must agree, whatever they are compiled for. */
	CHECK(cluster_path_hash("", 0) == UINT64_C(0xcbf29ce44fd0bfc1));
}

int main(void)
{
	TAP_CASE(test_each_node_is_one_child);
	TAP_CASE(test_depth_is_the_least);
	TAP_CASE(test_routes_only_go_to_smaller_positions);
	TAP_CASE(test_route_order);
	TAP_CASE(test_load_is_even);
	TAP_CASE(test_ranges_go_around);
	return tap_done();
}
