/* SPDX-License-Identifier: MIT */
/* cache_clear: a cache that knows nothing any more, while it goes on serving. */
#include <malloc.h>

#include "cachefs/store/flight.h"

#define ROUNDS 2              /* of sweeping: the first takes the marks of use away */
#define BYTES_FOR_ABSENT 4096 /* of the budget: one name more may be kept */

/* The kernel forgets what is not in a folder with the folder itself, but it forgets no root: there
 * each name that it keeps is known to us until then, within bounds. */
bool cache_may_keep_absent(struct cache *c, struct node *parent, const char *name)
{
	uint64_t max = c->opts.budget_bytes / BYTES_FOR_ABSENT;
	struct node *n = parent->parent ? NULL : nodes_get(c->nodes, parent, name);
	bool is_kept = parent->parent || (n && atomic_load(&n->is_kept_absent));

	if (n && !is_kept && atomic_load(&c->kept_absent) < max &&
	    !atomic_exchange(&n->is_kept_absent, true)) {
		atomic_fetch_add(&c->kept_absent, 1);
		return true; /* it stays counted */
	}
	if (n)
		node_unref(n, 1);
	return is_kept;
}

static void forget_absent(struct cache *c, struct node *n)
{
	if (!atomic_exchange(&n->is_kept_absent, false))
		return;
	atomic_fetch_sub(&c->kept_absent, 1);
	c->kernel.forget_name(c->kernel.context, (uint64_t)(uintptr_t)n->parent, n->name);
	node_unref(n, 1);
}

struct clearing {
	struct cache *cache;
	bool is_unused_forgotten; /* by the kernel: what it still has is used */
};

static void forget(void *context, struct node *n)
{
	const struct clearing *clearing = context;
	struct cache *c = clearing->cache;
	const struct cache_kernel *k = &c->kernel;
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
		k->forget_file(k->context, (uint64_t)(uintptr_t)n);
	if (n->parent && (is_kept || was_absent))
		(clearing->is_unused_forgotten ? k->doubt_name : k->forget_name)(
			k->context, (uint64_t)(uintptr_t)n->parent, n->name);
	forget_absent(c, n);
}

int cache_clear(struct cache *c, bool keeps_counts)
{
	struct clearing clearing = { .cache = c };
	int rc, rounds = 0;

	clearing.is_unused_forgotten = c->kernel.forget_unused(c->kernel.context);
	rc = nodes_visit(c->nodes, forget, &clearing);
	chunks_shrink(c->chunks, 0);
	while (rounds < ROUNDS && !(keeps_counts && c->has_path_counts))
		rounds += nodes_sweep(c->nodes, NULL);
	malloc_trim(0); /* small pieces lay everywhere */
	return rc;
}
