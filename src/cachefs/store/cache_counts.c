/* SPDX-License-Identifier: MIT */
/* cache_counts: what is counted of a cache, for all paths and for each. */
#include <limits.h>
#include <string.h>

#include "cachefs/store/flight.h"

void cache_keep_counts(struct cache *c)
{
	nodes_keep_counts(c->nodes);
	c->has_path_counts = true;
}

struct path_counts *cache_path_counts(struct cache *c, struct node *n)
{
	return node_counts(c->nodes, n);
}

void cache_count_name(struct cache *c, struct node *parent, const char *name, int64_t ns,
		      enum metrics_result result)
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

void cache_count_absent(struct cache *c, struct node *n, enum absent_event event)
{
	struct path_counts *counts = node_counts(c->nodes, n);

	atomic_fetch_add(&c->counts.absent[event], 1);
	if (counts)
		atomic_fetch_add_explicit(&counts->absent[event], 1, memory_order_relaxed);
}

int cache_visit(struct cache *c, void (*visit)(void *context, struct node *n), void *context)
{
	return nodes_visit(c->nodes, visit, context);
}
