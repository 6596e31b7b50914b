/* SPDX-License-Identifier: MIT */
/* cache_replies: stores the replies of storage in the cache. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/store/cache_internal.h"

#define SLOW_NS (NS_PER_S / 10000) /* a slow lookup: longer than storage in memory takes */
#define MISSES 3                   /* failed lookups in a folder, after which it is listed */
#define GUESS_ENTRIES 100000       /* the most names of such a listing */

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
		n->device = attr->st_dev;
		n->is_late = false;
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
		n->is_unlistable |= !f->request.is_skipped;
		return;
	}
	node_set_listing(c->nodes, n, dirlist_ref(f->request.listing));
	n->listing_expires_ns = after(c->opts.ttl_ns);
	n->listing_read_ns = after(LISTING_READ_NS);
}

static void store_link(struct cache *c, const struct inflight *f)
{
	char *link;

	if (f->rc < 0)
		return;
	link = strndup(f->request.out.data ? f->request.out.data : "", f->request.out.len);
	if (link)
		node_set_link(c->nodes, f->node, link);
}

static void store_chunk(struct inflight *f)
{
	struct chunk *chunk = f->chunk;

	chunk->inflight = NULL;
	if (f->rc == 0 && chunk->len != chunk->cap)
		f->rc = -ESTALE;
	if (f->rc < 0)
		chunk_invalidate(chunk);
}

/* A process that has the file open may have read old data, and the kernel retries a failed read.
 * So only a new open gets the new data. */
static void detach_changed(struct cache *c, const struct inflight *f)
{
	if (f->request.kind == STORAGE_READ && c->opts.ttl_ns == CACHE_FOREVER)
		f->node->is_detached = true;
}

void cache_complete(struct inflight *f)
{
	struct cache *c = cache_of(f);

	switch (f->request.kind) {
	case STORAGE_LOOKUP:
		f->rc = store_attr(c, f->node, f->rc, &f->request.attr);
		if (f->was_negative && f->rc != -ENOENT)
			cache_count_negative(c, f->node, NEGATIVE_CLEAR);
		break;
	case STORAGE_LIST:
		store_list(c, f);
		break;
	case STORAGE_READ_LINK:
		store_link(c, f);
		break;
	case STORAGE_READ:
		if (f->chunk)
			store_chunk(f);
		break;
	case STORAGE_XATTR:
		cache_complete_xattr(c, f);
		break;
	case STORAGE_LOOKUP_NAMES:
	case STORAGE_SEEK:
	case STORAGE_STAT_FS:
		break;
	}
	if (f->rc == -ESTALE) {
		detach_changed(c, f);
		cache_note_stale(c, f->node);
	}
}

void cache_complete_name(struct inflight *f, size_t i, const struct stat *attr)
{
	struct cache *c = cache_of(f);
	const char *name = dirlist_name(f->request.listing, (size_t)f->request.offset + i);
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

/* Counts new names that do not exist. Several of them mean that a process searches a path, and
 * will search the folder again: its listing then answers. A process that polls for one name is not
 * counted, because it expects that name to appear. */
static void note_miss(struct cache *c, struct node *folder)
{
	struct inflight *f;
	int rc;

	node_lock(c->nodes, folder);
	if (!folder->listing && !folder->is_unlistable && ++folder->misses >= MISSES) {
		folder->misses = 0;
		f = inflight_join(&c->env, folder, NODE_LIST, GUESS_ENTRIES, false, &rc);
		if (f)
			inflight_unref(f);
	}
	node_unlock(c->nodes, folder);
}

/* Before its waiters are resumed: a process that looks up one name after the other then meets these
 * requests in the same order. */
void cache_completed(struct inflight *f)
{
	struct cache *c = cache_of(f);
	struct node *folder = f->node->parent;

	if (f->request.kind == STORAGE_LOOKUP && folder && f->awaited.wait_start_ns) {
		if (f->request.took_ns >= SLOW_NS)
			cache_lookup_ahead(c, folder, f->node->name);
		if (f->rc == -ENOENT && !f->was_negative)
			note_miss(c, folder);
	}
	cache_check_budget(c);
}
