/* SPDX-License-Identifier: MIT */
/* cache_replies: stores the replies of storage in the cache. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/store/cache_internal.h"

static struct cache *cache_of(const struct inflight *f)
{
	return f->env->context;
}

static int64_t after(int64_t duration_ns)
{
	return duration_ns == CACHE_FOREVER ? CACHE_FOREVER : clock_mono_ns() + duration_ns;
}

static void invalidate_contents(struct cache *c, struct node *n)
{
	chunks_invalidate(n);
	node_set_listing(c->nodes, n, NULL);
	node_set_link(c->nodes, n, NULL);
	n->is_unlistable = false;
	n->misses = 0;
}

/* A process that has the old file open must not read data of the new one. */
static bool is_replaced(struct node *n, const struct stat *now)
{
	return atomic_load(&n->lookups) && n->attr.st_ino &&
	       (n->attr.st_ino != now->st_ino || n->attr.st_dev != now->st_dev ||
		(n->attr.st_mode & S_IFMT) != (now->st_mode & S_IFMT));
}

/* Under the lock of n. Returns rc, or -ESTALE when another file has the name. */
static int store_attr(struct cache *c, struct node *n, int rc, const struct stat *attr)
{
	if (rc == 0 && is_replaced(n, attr)) {
		invalidate_contents(c, n);
		n->is_detached = true;
		return -ESTALE;
	}
	if (rc == 0) {
		if (!cache_is_same(&n->attr, attr))
			invalidate_contents(c, n);
		n->attr = *attr;
		n->missing_xattrs = n->unsupported_xattrs = 0;
		n->state = NODE_PRESENT;
		n->expires_ns = after(c->opts.ttl_ns);
	} else if (rc == -ENOENT) {
		invalidate_contents(c, n);
		n->state = NODE_NEGATIVE;
		n->expires_ns = after(c->opts.negative_ttl_ns);
		cache_count_negative(c, n, NEGATIVE_STORE);
	} else {
		n->state = NODE_UNKNOWN;
	}
	return rc;
}

static void store_list(struct cache *c, struct inflight *f)
{
	struct node *n = f->node;

	if (f->rc < 0) {
		n->is_unlistable = true;
		return;
	}
	node_set_listing(c->nodes, n, dirlist_ref(f->listing));
	n->listing_expires_ns = after(c->opts.ttl_ns);
	n->listing_read_ns = after(LISTING_READ_NS);
}

static void store_link(struct cache *c, const struct inflight *f)
{
	char *link;

	if (f->rc < 0)
		return;
	link = strndup(f->out.data ? f->out.data : "", f->out.len);
	if (link)
		node_set_link(c->nodes, f->node, link);
}

static void store_chunk(struct inflight *f)
{
	f->chunk->inflight = NULL;
	if (f->rc < 0)
		chunk_invalidate(f->chunk);
	chunk_end_read(f->chunk);
}

/* A process that has the file open may have read old data, and the kernel retries a failed read.
 * So only a new open gets the new data. */
static void detach_changed(struct cache *c, const struct inflight *f)
{
	bool is_data = f->kind == INFLIGHT_CHUNK || f->kind == INFLIGHT_BYTES;

	if (is_data && c->opts.ttl_ns == CACHE_FOREVER)
		f->node->is_detached = true;
}

void cache_complete(struct inflight *f)
{
	struct cache *c = cache_of(f);

	if (f->kind == INFLIGHT_ATTR) {
		f->rc = store_attr(c, f->node, f->rc, &f->attr);
		if (f->was_negative && f->rc != -ENOENT)
			cache_count_negative(c, f->node, NEGATIVE_CLEAR);
	} else if (f->kind == INFLIGHT_LIST) {
		store_list(c, f);
	} else if (f->kind == INFLIGHT_LINK) {
		store_link(c, f);
	} else if (f->kind == INFLIGHT_CHUNK) {
		store_chunk(f);
	}
	if (f->rc == -ESTALE) {
		detach_changed(c, f);
		cache_note_stale(c, f->node);
	}
}

void cache_complete_name(struct inflight *f, size_t i, const struct stat *attr)
{
	struct cache *c = cache_of(f);
	const char *name = dirlist_name(f->listing, (size_t)f->offset + i);
	struct node *n = nodes_get(c->nodes, f->node, name);

	if (!n)
		return;
	node_lock(c->nodes, n);
	if (n->state == NODE_UNKNOWN && !n->inflight[NODE_ATTR] && !n->is_detached &&
	    store_attr(c, n, 0, attr) == -ESTALE)
		cache_note_stale(c, n);
	node_unlock(c->nodes, n);
	node_unref(n, 1);
}
