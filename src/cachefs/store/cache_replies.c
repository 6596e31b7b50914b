/* SPDX-License-Identifier: MIT */
/* cache_replies: stores the replies of storage in the cache. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/memory/recheck.h"
#include "cachefs/store/cache_internal.h"

#define SLOW_NS (NS_PER_S / 10000) /* a slow lookup: longer than storage in memory takes */
#define MISSES 3                   /* failed lookups in a folder, after which it is listed */
#define NOTICE_NS (NS_PER_S / 4)   /* one notice for all provisional data of so long */
#define GUESS_ENTRIES 100000       /* the most names of such a listing */

static struct cache *cache_of(const struct inflight *f)
{
	return f->env->context;
}

/* Of a reply that has just arrived: what it says was true when storage was read, at the earliest.
 */
static int64_t time_read(const struct inflight *f)
{
	return clock_mono_ns() - inflight_age(f);
}

static int64_t expiry_of(int64_t read_ns, int64_t ttl_ns)
{
	return ttl_ns == CACHE_FOREVER ? CACHE_FOREVER : read_ns + ttl_ns;
}

static void invalidate_contents(struct cache *c, struct node *n)
{
	chunks_invalidate(n);
	recheck_clear(&n->recheck);
	node_set_listing(c->nodes, n, NULL);
	node_set_link(c->nodes, n, NULL);
	n->is_unlistable = false;
	n->misses = 0;
}

static bool is_same_file(const struct stat *then, const struct stat *now)
{
	return then->st_ino == now->st_ino && then->st_dev == now->st_dev &&
	       (then->st_mode & S_IFMT) == (now->st_mode & S_IFMT);
}

/* A process that reads a file can follow it when it grows. Else, where the kernel keeps its size
 * for good, the first process that reads it would get the new data, cut to the old size. */
static bool is_followed(const struct cache *c, const struct node *n, const struct stat *now)
{
	return now->st_size > n->attr.st_size && (n->is_read || c->opts.ttl_ns != CACHE_FOREVER);
}

/* Must the kernel use a new node for what has the name now? A process that has a file open must not
 * read data of another file, or of another version of it. */
static bool is_other(const struct cache *c, struct node *n, int rc, const struct stat *now)
{
	const struct stat *then = &n->attr;

	if (!atomic_load(&n->lookups) || !then->st_ino)
		return false;
	if (rc < 0)
		return rc == -ENOENT && S_ISREG(then->st_mode);
	if (!is_same_file(then, now))
		return true;
	return S_ISREG(then->st_mode) && !cache_is_same(then, now) && !is_followed(c, n, now);
}

/* What is cached of n is not what has the name now. */
static void drop_changed(struct cache *c, struct node *n)
{
	if (S_ISREG(n->attr.st_mode) && n->attr.st_ino)
		atomic_fetch_add(&c->counts.stale, 1);
	if (!cache_keeps_version(n))
		invalidate_contents(c, n);
}

/* The kernel has zeros behind the old end, in the last page. It must drop them before it gets the
 * new size, or another process reads them meanwhile. Without memory for a notice, it gets it at
 * once. */
static void note_grown(struct cache *c, struct node *n)
{
	if (notifier_put(&c->notifier, NOTICE_GROWN, n, "") < 0)
		return;
	if (!n->is_growing)
		n->shown_size = n->attr.st_size;
	n->is_growing = true;
	n->growths++;
}

/* What must be as it was in a file that only grew: the end of it, or what was read last. */
static struct witness find_witness(const struct node *n)
{
	uint64_t size = (uint64_t)n->attr.st_size, index = size ? (size - 1) / CHUNK_BYTES : 0;
	const struct chunk *last = chunks_find(n, index);

	if (!last || last->inflight)
		return n->witness;
	return (struct witness){
		.offset = index * CHUNK_BYTES,
		.len = last->len,
		.hash = recheck_hash(last->bytes, last->len),
	};
}

/* Drops what is cached of n where it changed. Of a file that only grew, bytes that were read must
 * still be there; that is checked before more of it is read. */
static void store_version(struct cache *c, struct node *n, const struct stat *attr)
{
	struct witness w = { .len = 0 };
	bool has_grown;

	/* The listing of a folder may pass through to another node before its attributes do. */
	if (cache_is_same(&n->attr, attr) || (!n->attr.st_ino && S_ISDIR(attr->st_mode)))
		return;
	has_grown = S_ISREG(attr->st_mode) && is_same_file(&n->attr, attr) &&
		    attr->st_size > n->attr.st_size;
	if (has_grown && atomic_load(&n->lookups))
		note_grown(c, n);
	if (has_grown)
		w = find_witness(n);
	n->witness = w;
	drop_changed(c, n);
	if (w.len && recheck_add(&n->recheck, w.offset, w.len, w.hash, 0) < 0)
		n->is_read = false; /* out of memory: it is not followed any more */
}

int cache_store_attr(struct cache *c, struct node *n, int64_t read_ns, int rc,
		     const struct stat *attr)
{
	n->read_ns = read_ns;
	n->is_changed = false;
	if (is_other(c, n, rc, attr)) {
		n->is_detached = true;
		drop_changed(c, n);
		return -ESTALE;
	}
	if (rc == 0) {
		store_version(c, n, attr);
		n->attr = *attr;
		n->device = attr->st_dev;
		n->is_late = false;
		n->missing_xattrs = n->unsupported_xattrs = 0;
		n->state = NODE_PRESENT;
		n->expires_ns = expiry_of(read_ns, c->opts.ttl_ns);
	} else if (rc == -ENOENT) {
		invalidate_contents(c, n);
		n->state = NODE_NEGATIVE;
		n->expires_ns = expiry_of(read_ns, c->opts.negative_ttl_ns);
		cache_count_negative(c, n, NEGATIVE_STORE);
	} else {
		n->state = NODE_UNKNOWN;
	}
	return rc;
}

void cache_store_list(struct cache *c, struct node *n, int64_t read_ns, struct dirlist *listing)
{
	node_set_listing(c->nodes, n, dirlist_ref(listing));
	n->listing_from_ns = read_ns;
	n->listing_expires_ns = expiry_of(read_ns, c->opts.ttl_ns);
}

static void store_list(struct cache *c, struct inflight *f)
{
	struct node *n = f->node;

	if (f->rc < 0) {
		n->is_unlistable |= !f->request.is_skipped;
		return;
	}
	cache_store_list(c, n, time_read(f), f->request.listing);
	n->listing_read_ns = clock_mono_ns() + LISTING_READ_NS;
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

/* The data was read again. When it differs, all that was served may be of another version. */
static void complete_recheck(struct cache *c, struct inflight *f)
{
	struct node *n = f->node;
	struct recheck_part *part = recheck_of(n->recheck, f);

	if (!part)
		return;
	part->reader = NULL;
	if (f->rc < 0)
		part->ready_ns =
			clock_mono_ns() + RECHECK_NS; /* what is cached is served until then */
	if (f->rc < 0)
		return;
	if (f->hash == part->hash) {
		recheck_remove(&n->recheck, part);
		return;
	}
	f->rc = -ESTALE;
	atomic_fetch_add(&c->counts.stale, 1);
	invalidate_contents(c, n);
	n->witness = (struct witness){ .len = 0 };
	n->state = NODE_UNKNOWN;
	n->is_detached = atomic_load(&n->lookups) > 0;
	(void)!notifier_put(&c->notifier, NOTICE_INODE, n, "");
	if (n->is_detached)
		notifier_put_stale(&c->notifier, n);
}

/* Data is provisional: also the kernel drops it once it can be checked. */
static int note_early(struct cache *c, struct inflight *f)
{
	int64_t ready_ns = clock_mono_ns() + RECHECK_NS;
	struct node *n = f->node;
	int rc;

	if (n->is_detached || !f->request.read.len)
		return 0;
	rc = recheck_add(&n->recheck, f->request.offset, f->request.read.len, f->hash, ready_ns);
	if (rc < 0 || ready_ns <= n->recheck_notice_ns)
		return rc;
	n->recheck_notice_ns = ready_ns + NOTICE_NS;
	return notifier_put_later(&c->notifier, n, n->recheck_notice_ns);
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

/* The file is not the one that was looked up: the next lookup shows whether it only grew. */
static void expire_changed(const struct inflight *f)
{
	struct node *n = f->node;

	if (n->state == NODE_PRESENT && !n->is_detached &&
	    cache_is_same(&f->request.attr, &n->attr)) {
		n->state = NODE_UNKNOWN;
		n->is_changed = true;
	}
}

static void complete_read(struct cache *c, struct inflight *f)
{
	if (f->is_recheck)
		complete_recheck(c, f);
	if (f->is_early && f->rc == 0)
		f->rc = note_early(c, f);
	if (f->chunk)
		store_chunk(f);
	if (f->rc == 0 && f->witness.len && !f->is_recheck &&
	    cache_is_same(&f->request.attr, &f->node->attr))
		f->node->witness = f->witness;
	if (f->rc == -ESTALE)
		expire_changed(f);
}

void cache_complete(struct inflight *f)
{
	struct cache *c = cache_of(f);

	switch (f->request.kind) {
	case STORAGE_LOOKUP:
		f->rc = cache_store_attr(c, f->node, time_read(f), f->rc, &f->request.attr);
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
		complete_read(c, f);
		return;
	case STORAGE_XATTR:
		cache_complete_xattr(c, f);
		break;
	case STORAGE_ACCESS:
		cache_complete_rights(c, f);
		break;
	case STORAGE_LOOKUP_NAMES:
	case STORAGE_SEEK:
	case STORAGE_STAT_FS:
		break;
	}
	if (f->rc == -ESTALE)
		cache_note_stale(c, f->node);
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
	    !n->is_changed && cache_store_attr(c, n, time_read(f), 0, attr) == -ESTALE)
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
		f = inflight_join(&c->env, folder, NODE_LIST, GUESS_ENTRIES, NULL, &rc);
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
