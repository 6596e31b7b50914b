/* SPDX-License-Identifier: MIT */
/*
 * cache_xattrs: extended attributes. Values are fetched from storage each time. The absence of a
 * common attribute is cached as a bit of the node: "ls -l" alone makes three requests a file for
 * attributes that hardly any file has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachefs/store/cache_internal.h"

static uint16_t bit_of(size_t i)
{
	return (uint16_t)(1u << i);
}

/* 0: the name has no bit. */
static uint16_t find_bit(struct cache *c, const char *name)
{
	for (size_t i = 0; i < CACHE_XATTRS; i++) {
		const char *kept = atomic_load(&c->xattrs[i]);

		if (!kept)
			break;
		if (strcmp(kept, name) == 0)
			return bit_of(i);
	}
	return 0;
}

/* Gives the name a bit. 0: all bits are taken, or out of memory. */
static uint16_t make_bit(struct cache *c, const char *name)
{
	char *mine = strdup(name);

	for (size_t i = 0; mine && i < CACHE_XATTRS; i++) {
		char *kept = NULL;

		if (atomic_compare_exchange_strong(&c->xattrs[i], &kept, mine))
			return bit_of(i);
		if (strcmp(kept, mine) == 0) {
			free(mine);
			return bit_of(i);
		}
	}
	free(mine);
	return 0;
}

/* Under the lock of n. name "": the list of all names. */
static bool is_known_missing(struct cache *c, struct node *n, const char *name, int *ret_rc)
{
	uint16_t bit = cache_is_known(n) ? find_bit(c, name) : 0;

	if (n->unsupported_xattrs & bit)
		*ret_rc = -EOPNOTSUPP;
	else if (n->missing_xattrs & bit)
		*ret_rc = *name ? -ENODATA : 0;
	else
		return false;
	return true;
}

void cache_complete_xattr(struct cache *c, struct inflight *f)
{
	const struct storage_request *r = &f->request;
	const char *name = r->name ? r->name : "";
	struct node *n = f->node;

	if (!cache_is_known(n) || !cache_is_same(&f->before, &n->attr))
		return;
	if (f->rc == -EOPNOTSUPP)
		n->unsupported_xattrs |= make_bit(c, name);
	else if (f->rc == -ENODATA || (f->rc == 0 && !*name && !r->out.len))
		n->missing_xattrs |= make_bit(c, name);
}

/* Under the lock of n. */
static int fetch(struct cache *c, struct waiter *w, struct node *n, const char *name)
{
	struct inflight *f = inflight_new(&c->env, n, STORAGE_XATTR);

	if (!f)
		return -ENOMEM;
	f->request.name = name ? strdup(name) : NULL;
	if (!name || f->request.name)
		return cache_fetch(f, w);
	inflight_unref(f);
	return -ENOMEM;
}

int cache_xattr(struct cache *c, struct waiter *w, struct node *n, const char *name,
		struct buf *ret)
{
	const struct inflight *reply = inflight_reply(w, n, STORAGE_XATTR);
	int rc;

	if (reply) {
		buf_put(ret, reply->request.out.data, reply->request.out.len);
		return reply->rc < 0 ? reply->rc : buf_error(ret);
	}
	node_lock(c->nodes, n);
	if (!is_known_missing(c, n, name ? name : "", &rc))
		rc = fetch(c, w, n, name);
	node_unlock(c->nodes, n);
	return rc;
}
