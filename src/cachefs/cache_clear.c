/* SPDX-License-Identifier: MIT */
/* cache_clear: a cache that knows nothing any more, while it goes on serving. */
#include "cachefs/flight.h"

#define ROUNDS 2 /* of sweeping: the first takes the marks of use away */

static void forget(void *context, struct node *n)
{
	struct cache *c = context;
	bool is_kept = atomic_load(&n->lookups) || !n->parent, was_absent;

	node_lock(c->nodes, n);
	was_absent = n->state == NODE_ABSENT;
	n->state = NODE_UNKNOWN;
	n->is_unlistable = false;
	n->misses = 0;
	chunks_forget(n);
	node_set_listing(c->nodes, n, NULL);
	node_set_link(c->nodes, n, NULL);
	node_unlock(c->nodes, n);
	if (is_kept)
		c->kernel.forget_file(c->kernel.context, (uint64_t)(uintptr_t)n);
	if (n->parent && (is_kept || was_absent))
		c->kernel.forget_name(c->kernel.context, (uint64_t)(uintptr_t)n->parent, n->name);
}

int cache_clear(struct cache *c)
{
	int rc = nodes_visit(c->nodes, forget, c);

	chunks_shrink(c->chunks, 0);
	for (int rounds = 0; rounds < ROUNDS;)
		rounds += nodes_sweep(c->nodes, NULL);
	return rc;
}
