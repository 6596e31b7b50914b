/* SPDX-License-Identifier: MIT */
/* cache_clear: invalidates a cache while it goes on serving. */
#include <errno.h>
#include <malloc.h>

#include <stdint.h>

#include "cachefs/memory/recheck.h"
#include "cachefs/store/cache_internal.h"

#define ROUNDS 2                /* of sweeping: the first one clears the `used` flags */
#define NOTICES_MAX 4096        /* queued at once */
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

struct clearing {
	struct cache *cache;
	bool is_unused_dropped; /* by the kernel: processes use the dentries that are left */
	int rc;                 /* -ENOMEM: a notice is missing */
};

static void notify(struct clearing *clearing, enum notice_kind kind, struct node *n,
		   const char *name)
{
	struct notifier *t = &clearing->cache->notifier;

	if (notifier_put(t, kind, n, name) < 0)
		clearing->rc = -ENOMEM;
	notifier_wait(t, NOTICES_MAX, INT64_MAX);
}

static void drop_negative(struct clearing *clearing, struct node *n)
{
	if (!atomic_exchange(&n->is_kept_negative, false))
		return;
	atomic_fetch_sub(&clearing->cache->kept_negatives, 1);
	notify(clearing, NOTICE_INVAL_ENTRY, n->parent, n->name);
	node_unref(n, 1);
}

static void invalidate(void *context, struct node *n)
{
	struct clearing *clearing = context;
	struct cache *c = clearing->cache;
	bool is_kept = atomic_load(&n->lookups) || !n->parent, was_negative;

	node_lock(c->nodes, n);
	was_negative = n->state == NODE_NEGATIVE;
	n->state = NODE_UNKNOWN;
	n->is_unlistable = false;
	n->misses = 0;
	chunks_invalidate(n);
	recheck_clear(&n->recheck);
	node_set_listing(c->nodes, n, NULL);
	node_set_link(c->nodes, n, NULL);
	node_unlock(c->nodes, n);
	if (is_kept)
		notify(clearing, NOTICE_INODE, n, "");
	if (n->parent && (is_kept || was_negative))
		notify(clearing,
		       clearing->is_unused_dropped ? NOTICE_EXPIRE_ENTRY : NOTICE_INVAL_ENTRY,
		       n->parent, n->name);
	drop_negative(clearing, n);
}

int cache_clear(struct cache *c, bool keeps_counts)
{
	struct clearing clearing = { .cache = c };
	int rc, rounds = 0;

	clearing.is_unused_dropped = c->kernel.drop_unused(c->kernel.context);
	answers_clear(c->answers);
	rc = nodes_visit(c->nodes, invalidate, &clearing);
	notifier_wait(&c->notifier, 0, INT64_MAX);
	chunks_shrink(c->chunks, 0);
	while (rounds < ROUNDS && !(keeps_counts && c->has_path_counts))
		rounds += nodes_sweep(c->nodes, NULL);
	malloc_trim(0); /* the heap is fragmented */
	return rc < 0 ? rc : clearing.rc;
}
