/* SPDX-License-Identifier: MIT */
/* cache_names: attributes of many entries of a folder at once, for a process that lists it. */
#include <errno.h>

#include "base/clock.h"
#include "cachefs/store/cache_internal.h"

#define ORDERED 3 /* slow lookups in listing order, after which lookups run ahead */
#define AHEAD 16  /* names requested at the same time */

bool cache_is_known(const struct node *n)
{
	return n->state == NODE_PRESENT && !n->is_detached && !n->is_stale &&
	       (n->expires_ns == CACHE_FOREVER || clock_mono_ns() < n->expires_ns);
}

/* The node, referenced, and *ret_attr; NULL: its attributes are not cached. */
static struct node *get_known(struct cache *c, struct node *folder, const char *name,
			      struct stat *ret_attr, int64_t *ret_ttl_ns)
{
	struct node *n = nodes_get(c->nodes, folder, name);
	bool is_known;

	if (!n)
		return NULL;
	node_lock(c->nodes, n);
	is_known = cache_is_known(n);
	if (n->state == NODE_PRESENT && !is_known)
		n->state = NODE_UNKNOWN; /* expired: accept a new reply */
	*ret_attr = n->attr;
	*ret_ttl_ns = cache_time_left(n->expires_ns);
	cache_show_size(n, ret_attr, ret_ttl_ns);
	node_unlock(c->nodes, n);
	if (is_known)
		return n;
	node_unref(n, 1);
	return NULL;
}

/* Returns how many are not cached. */
static size_t collect(struct cache *c, struct node *folder, const struct dirlist *names,
		      size_t from, size_t count, struct node **ret, struct stat *ret_attr,
		      int64_t *ret_ttl_ns)
{
	size_t missing = 0;

	for (size_t i = 0; i < count; i++) {
		if (!ret[i])
			ret[i] = get_known(c, folder, dirlist_name(names, from + i), &ret_attr[i],
					   &ret_ttl_ns[i]);
		missing += !ret[i];
	}
	return missing;
}

/* Under the lock of n: parks w at the request for n's entries, which may be for other names, or
 * starts one. The caller then collects what is cached. */
static int park(struct cache *c, struct waiter *w, struct node *n, struct dirlist *names,
		size_t from, size_t count)
{
	struct inflight *f = n->inflight[NODE_NAMES];
	int rc;

	if (f)
		return inflight_park(inflight_ref(f), w);
	f = inflight_new(&c->env, n, STORAGE_LOOKUP_NAMES);
	if (!f)
		return -ENOMEM;
	f->request.listing = dirlist_ref(names);
	f->request.offset = from;
	f->request.len = count;
	rc = inflight_start(f, w);
	if (rc < 0) {
		inflight_unref(f);
		return rc;
	}
	n->inflight[NODE_NAMES] = f;
	return inflight_park(f, w);
}

int cache_lookup_names(struct cache *c, struct waiter *w, struct node *n, struct dirlist *names,
		       size_t from, size_t count, struct node **ret, struct stat *ret_attr,
		       int64_t *ret_ttl_ns)
{
	bool is_asked = inflight_reply(w, n, STORAGE_LOOKUP_NAMES);
	int rc;

	for (size_t i = 0; i < count; i++)
		ret[i] = NULL;
	if (cache_is_full(c) || !collect(c, n, names, from, count, ret, ret_attr, ret_ttl_ns) ||
	    is_asked)
		return 0;
	node_lock(c->nodes, n);
	rc = park(c, w, n, names, from, count);
	node_unlock(c->nodes, n);
	if (rc != CACHE_PARKED)
		return 0; /* without them */
	for (size_t i = 0; i < count; i++)
		if (ret[i])
			node_unref(ret[i], 1);
	return rc;
}

/* Under the lock of the folder: sets the range of names to request. False: it is empty. */
static bool find_ahead(struct node *folder, const char *name, size_t *ret_from, size_t *ret_to)
{
	ptrdiff_t at = folder->listing ? dirlist_find(folder->listing, name) : -1;
	size_t next = folder->next_name, i = (size_t)at, count;
	bool is_known_order = folder->in_order >= ORDERED;

	if (at < 0)
		return false;
	count = dirlist_count(folder->listing);
	if (i > next || next - i > (is_known_order ? AHEAD : 0))
		folder->in_order = 0;
	else if (!is_known_order)
		folder->in_order++;
	*ret_from = *ret_to = i + 1;
	if (folder->in_order >= ORDERED) {
		*ret_from = next > i ? next : i + 1;
		*ret_to = i + 1 + AHEAD < count ? i + 1 + AHEAD : count;
	}
	folder->next_name = (uint32_t)*ret_to;
	return *ret_from < *ret_to;
}

static void fetch_ahead(struct cache *c, struct node *folder, const char *name)
{
	struct node *n = nodes_get(c->nodes, folder, name);
	struct inflight *f = NULL;
	int rc;

	if (!n)
		return;
	node_lock(c->nodes, n);
	if (n->state == NODE_UNKNOWN && !n->is_detached)
		f = inflight_join(&c->env, n, NODE_ATTR, 0, NULL, &rc);
	if (f)
		inflight_unref(f);
	node_unlock(c->nodes, n);
	node_unref(n, 1);
}

void cache_lookup_ahead(struct cache *c, struct node *folder, const char *name)
{
	struct dirlist *names = NULL;
	size_t from, to;

	if (cache_is_full(c))
		return;
	node_lock(c->nodes, folder);
	if (find_ahead(folder, name, &from, &to))
		names = dirlist_ref(folder->listing);
	node_unlock(c->nodes, folder);
	for (size_t i = from; names && i < to; i++)
		fetch_ahead(c, folder, dirlist_name(names, i));
	dirlist_unref(names);
}
