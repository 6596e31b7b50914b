/* SPDX-License-Identifier: MIT */
/* cache_counts: the counters of a cache, in total and by path. */
#include <limits.h>
#include <string.h>

#include "cachefs/store/cache_internal.h"

void cache_enable_path_counts(struct cache *c)
{
	nodes_enable_counts(c->nodes);
	c->has_path_counts = true;
}

struct path_counts *cache_path_counts(struct cache *c, struct node *n)
{
	return node_counts(c->nodes, n);
}

void cache_count_failed_lookup(struct cache *c, struct node *parent, const char *name, int64_t ns,
			       enum request_result result)
{
	struct path_counts *counts;
	struct node *n;

	if (!c->has_path_counts || strnlen(name, NAME_MAX + 1) > NAME_MAX)
		return;
	n = nodes_get(c->nodes, parent, name);
	if (!n)
		return;
	counts = node_counts(c->nodes, n);
	if (counts)
		path_counts_add(counts, PATH_METADATA, result, ns, 0);
	node_unref(n, 1);
}

void cache_count_negative(struct cache *c, struct node *n, enum negative_event event)
{
	struct path_counts *counts = node_counts(c->nodes, n);

	atomic_fetch_add(&c->counts.negatives[event], 1);
	if (counts)
		atomic_fetch_add_explicit(&counts->negatives[event], 1, memory_order_relaxed);
}

int cache_visit(struct cache *c, void (*visit)(void *context, struct node *n), void *context)
{
	return nodes_visit(c->nodes, visit, context);
}
