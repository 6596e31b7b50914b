/* SPDX-License-Identifier: MIT */
/* cache_clear: invalidates a cache while it goes on serving. */
#include <malloc.h>

#include "cachefs/store/cache_internal.h"

#define ROUNDS 2                /* of sweeping: the first one clears the `used` flags */
#define BYTES_PER_NEGATIVE 4096 /* of the budget, for each negative entry in the root */

/* The kernel drops negative dentries with their folder, but never drops the root. So a bounded
 * number of nodes records which negative dentries the root has, for cache_clear to invalidate. */
bool cache_may_keep_negative(struct cache *c, struct node *parent, const char *name)
{
	uint64_t max = c->opts.budget_bytes / BYTES_PER_NEGATIVE;
	struct node *n = parent->parent ? NULL : nodes_get(c->nodes, parent, name);
	bool is_kept = parent->parent || (n && atomic_load(&n->is_kept_negative));

	if (n && !is_kept && atomic_load(&c->kept_negatives) < max &&
	    !atomic_exchange(&n->is_kept_negative, true)) {
		atomic_fetch_add(&c->kept_negatives, 1);
		return true; /* with its reference */
	}
	if (n)
		node_unref(n, 1);
	return is_kept;
}

static void drop_negative(struct cache *c, struct node *n)
{
	if (!atomic_exchange(&n->is_kept_negative, false))
		return;
	atomic_fetch_sub(&c->kept_negatives, 1);
	c->kernel.inval_entry(c->kernel.context, (uint64_t)(uintptr_t)n->parent, n->name);
	node_unref(n, 1);
}

struct clearing {
	struct cache *cache;
	bool is_unused_dropped; /* by the kernel: processes use the dentries that are left */
};

static void invalidate(void *context, struct node *n)
{
	const struct clearing *clearing = context;
	struct cache *c = clearing->cache;
	const struct cache_kernel *k = &c->kernel;
	bool is_kept = atomic_load(&n->lookups) || !n->parent, was_negative;

	node_lock(c->nodes, n);
	was_negative = n->state == NODE_NEGATIVE;
	n->state = NODE_UNKNOWN;
	n->is_unlistable = false;
	n->misses = 0;
	chunks_invalidate(n);
	node_set_listing(c->nodes, n, NULL);
	node_set_link(c->nodes, n, NULL);
	node_unlock(c->nodes, n);
	if (is_kept)
		k->inval_inode(k->context, (uint64_t)(uintptr_t)n);
	if (n->parent && (is_kept || was_negative))
		(clearing->is_unused_dropped ? k->expire_entry : k->inval_entry)(
			k->context, (uint64_t)(uintptr_t)n->parent, n->name);
	drop_negative(c, n);
}

int cache_clear(struct cache *c, bool keeps_counts)
{
	struct clearing clearing = { .cache = c };
	int rc, rounds = 0;

	clearing.is_unused_dropped = c->kernel.drop_unused(c->kernel.context);
	rc = nodes_visit(c->nodes, invalidate, &clearing);
	chunks_shrink(c->chunks, 0);
	while (rounds < ROUNDS && !(keeps_counts && c->has_path_counts))
		rounds += nodes_sweep(c->nodes, NULL);
	malloc_trim(0); /* the heap is fragmented */
	return rc;
}
