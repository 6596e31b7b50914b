/* SPDX-License-Identifier: MIT */
#include "cachefs/store/cache_share.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/memory/recheck.h"
#include "cachefs/store/cache_internal.h"

/* Takes the first name off *path. False: none is left, or it is too long. */
static bool take_name(const char **path, char name[NAME_MAX + 1])
{
	size_t len = strcspn(*path, "/");

	if (!len || len > NAME_MAX)
		return false;
	memcpy(name, *path, len);
	name[len] = '\0';
	*path += len + ((*path)[len] == '/');
	return true;
}

typedef struct node *step(struct nodes *t, struct node *parent, const char *name);

/*
 * The node at path, with a reference; next: nodes_find or nodes_get. NULL: there is none;
 * *ret_folder is then the folder of the last name, with a reference, or NULL.
 */
static struct node *walk(struct cache *c, const char *path, step *next, struct node **ret_folder,
			 char name[NAME_MAX + 1])
{
	struct node *n = node_ref(cache_root(c));

	*ret_folder = NULL;
	while (*path) {
		struct node *child = take_name(&path, name) ? next(c->nodes, n, name) : NULL;

		if (!child && !*path) {
			*ret_folder = n;
			return NULL;
		}
		node_unref(n, 1);
		if (!child)
			return NULL;
		n = child;
	}
	return n;
}

static struct node *node_at(struct cache *c, const char *path, step *next)
{
	char name[NAME_MAX + 1];
	struct node *folder, *n = walk(c, path, next, &folder, name);

	if (folder)
		node_unref(folder, 1);
	return n;
}

/* Under the lock of n. */
static bool find_known(const struct cache *c, const struct node *n, struct cache_found *ret)
{
	int64_t now_ns = clock_mono_ns();

	if (n->is_detached || n->is_stale || n->state == NODE_UNKNOWN || now_ns >= n->expires_ns)
		return false;
	/* A listing may have made it valid for longer; others have to see that for themselves. */
	if (n->state == NODE_NEGATIVE && now_ns - n->read_ns >= c->opts.negative_ttl_ns)
		return false;
	ret->rc = n->state == NODE_NEGATIVE ? -ENOENT : 0;
	ret->attr = n->attr;
	ret->read_ns = n->read_ns;
	return true;
}

/* Does the folder's listing lack the name? */
static bool find_unlisted(struct cache *c, struct node *folder, const char *name,
			  struct cache_found *ret)
{
	bool lacks;

	node_lock(c->nodes, folder);
	lacks = folder->listing && cache_time_left(folder->listing_expires_ns) > 0 &&
		dirlist_lacks(folder->listing, name);
	ret->rc = -ENOENT;
	ret->read_ns = folder->listing_from_ns;
	node_unlock(c->nodes, folder);
	return lacks;
}

bool cache_find_attr(struct cache *c, const char *path, struct cache_found *ret)
{
	char name[NAME_MAX + 1];
	struct node *folder, *n = walk(c, path, nodes_find, &folder, name);
	bool is_found = false;

	if (n) {
		node_lock(c->nodes, n);
		is_found = find_known(c, n, ret);
		node_unlock(c->nodes, n);
		if (!is_found && n->parent)
			is_found = find_unlisted(c, n->parent, n->name, ret);
		node_unref(n, 1);
	} else if (folder) {
		is_found = find_unlisted(c, folder, name, ret);
		node_unref(folder, 1);
	}
	return is_found;
}

bool cache_find_list(struct cache *c, const char *path, struct dirlist **ret, int64_t *ret_read_ns)
{
	struct node *n = node_at(c, path, nodes_find);
	bool is_found = false;

	if (!n)
		return false;
	node_lock(c->nodes, n);
	if (n->listing && !n->is_detached && cache_time_left(n->listing_expires_ns) > 0) {
		*ret = dirlist_ref(n->listing);
		*ret_read_ns = n->listing_from_ns;
		is_found = true;
	}
	node_unlock(c->nodes, n);
	node_unref(n, 1);
	return is_found;
}

bool cache_find_link(struct cache *c, const char *path, struct buf *ret, int64_t *ret_read_ns)
{
	struct node *n = node_at(c, path, nodes_find);
	struct cache_found known;
	bool is_found;

	if (!n)
		return false;
	node_lock(c->nodes, n);
	is_found = n->link && find_known(c, n, &known) && known.rc == 0;
	if (is_found)
		buf_put_str(ret, n->link);
	node_unlock(c->nodes, n);
	node_unref(n, 1);
	*ret_read_ns = is_found ? known.read_ns : 0;
	return is_found && buf_error(ret) == 0;
}

/* Of the same version, whatever else is known of the file. */
static bool is_version(const struct node *n, const struct stat *same)
{
	return n->attr.st_ino == same->st_ino && n->attr.st_dev == same->st_dev &&
	       n->attr.st_size == same->st_size && n->attr.st_ctim.tv_sec == same->st_ctim.tv_sec &&
	       n->attr.st_ctim.tv_nsec == same->st_ctim.tv_nsec;
}

bool cache_find_chunk(struct cache *c, const char *path, const struct stat *same, uint64_t index,
		      struct chunk **ret)
{
	struct node *n = node_at(c, path, nodes_find);
	struct chunk *chunk;

	if (!n)
		return false;
	node_lock(c->nodes, n);
	chunk = n->recheck || n->is_stale || !is_version(n, same) ? NULL : chunks_find(n, index);
	if (chunk && (chunk->inflight || chunk->len != chunk->cap))
		chunk = NULL;
	if (chunk)
		chunk_begin_read(chunk);
	node_unlock(c->nodes, n);
	node_unref(n, 1);
	*ret = chunk;
	return chunk != NULL;
}

bool cache_chunk_is_hole(const struct chunk *chunk)
{
	return !chunk->piece.bytes && !chunk->backing;
}

/* Under the lock of n: may a reply that passes through change what is known of it? Not an older
 * one. */
static bool is_news(const struct node *n, int64_t read_ns)
{
	return !n->is_detached && !n->is_changed &&
	       (n->state == NODE_UNKNOWN || read_ns > n->read_ns);
}

static void keep_attr(struct cache *c, struct node *n, int rc, const struct stat *attr,
		      int64_t read_ns)
{
	node_lock(c->nodes, n);
	if (is_news(n, read_ns) && cache_store_attr(c, n, read_ns, rc, attr) == -ESTALE)
		cache_note_stale(c, n);
	node_unlock(c->nodes, n);
}

void cache_keep_attr(struct cache *c, const char *path, int rc, const struct stat *attr,
		     int64_t read_ns)
{
	struct node *n = node_at(c, path, nodes_get);

	if (!n)
		return;
	keep_attr(c, n, rc, attr, read_ns);
	node_unref(n, 1);
	cache_check_budget(c);
}

void cache_keep_list(struct cache *c, const char *path, struct dirlist *listing,
		     const struct stat *attrs, const int *codes, size_t count, int64_t read_ns)
{
	struct node *n = node_at(c, path, nodes_get);

	if (!n)
		return;
	node_lock(c->nodes, n);
	if (!n->is_detached && (!n->listing || read_ns > n->listing_from_ns))
		cache_store_list(c, n, read_ns, listing);
	node_unlock(c->nodes, n);
	for (size_t i = 0; i < count && !cache_is_full(c); i++) {
		struct node *child =
			codes[i] == 0 ? nodes_get(c->nodes, n, dirlist_name(listing, i)) : NULL;

		if (!child)
			continue;
		keep_attr(c, child, 0, &attrs[i], read_ns);
		node_unref(child, 1);
	}
	node_unref(n, 1);
	cache_check_budget(c);
}

void cache_keep_link(struct cache *c, const char *path, const char *link, size_t len)
{
	struct node *n = node_at(c, path, nodes_find);
	struct cache_found known;
	char *copy;

	if (!n)
		return;
	node_lock(c->nodes, n);
	/* Only with valid attributes, which have the time until when the text is valid. */
	copy = !n->link && find_known(c, n, &known) && known.rc == 0 && S_ISLNK(n->attr.st_mode)
		       ? strndup(link, len)
		       : NULL;
	if (copy)
		node_set_link(c->nodes, n, copy);
	node_unlock(c->nodes, n);
	node_unref(n, 1);
}

/* Under the lock of n: makes it this version, if nothing else is known of it. */
static bool take_version(struct node *n, const struct stat *attr)
{
	if (n->is_detached || n->is_stale || n->is_changed || n->recheck)
		return false;
	if (is_version(n, attr))
		return true;
	if (n->state != NODE_UNKNOWN || n->inflight[NODE_ATTR] || atomic_load(&n->lookups) ||
	    n->content)
		return false;
	n->attr = *attr;
	n->attr.st_mode = S_IFREG;
	return true;
}

/* Under the lock of n. The chunk has the caller as a reader. */
static struct chunk *add_chunk(struct cache *c, struct node *n, uint64_t index, const void *bytes,
			       size_t len)
{
	struct chunk *chunk = chunks_find(n, index)
				      ? NULL
				      : chunks_add(c->chunks, n, index, (uint64_t)n->attr.st_size);

	if (!chunk)
		return NULL;
	if (chunk->cap != len) {
		chunk_invalidate(chunk);
		chunk_end_read(chunk);
		return NULL;
	}
	if (bytes)
		memcpy(chunk->bytes, bytes, len);
	chunk_filled(chunk, len, !bytes);
	return chunk;
}

bool cache_keep_chunk(struct cache *c, const char *path, const struct stat *attr, uint64_t index,
		      const void *bytes, size_t len, int64_t read_ns)
{
	struct server_now now = { .mono_ns = clock_mono_ns(), .wall_ns = clock_wall_ns() };
	struct server_now when = {
		.mono_ns = read_ns,
		.wall_ns = now.wall_ns - (now.mono_ns - read_ns),
	};
	struct chunk *chunk = NULL;
	bool is_in_flight = false;
	struct node *n;

	server_clocks_note(&c->clocks, attr, now);
	if (recheck_is_early(attr, server_clocks_at(&c->clocks, attr->st_dev, when)) ||
	    index * CHUNK_BYTES >= (uint64_t)attr->st_size)
		return true;
	n = node_at(c, path, nodes_get);
	if (!n)
		return true;
	node_lock(c->nodes, n);
	if (take_version(n, attr)) {
		const struct chunk *other = chunks_find(n, index);

		is_in_flight = other && other->inflight;
		chunk = add_chunk(c, n, index, bytes, len);
	}
	node_unlock(c->nodes, n);
	if (chunk)
		chunk_end_read(chunk);
	node_unref(n, 1);
	cache_check_budget(c);
	return !is_in_flight;
}

int cache_run_storage(struct cache *c, struct job *job, dev_t device)
{
	waiters_expect(c->env.waiters);
	atomic_fetch_add(&c->counts.storage.calls, 1);
	return pool_submit(c->env.queue.pool, job, device, true);
}
