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

static void note_missing(struct cache *c, struct node *n, const char *name, int rc, size_t len)
{
	if (rc == -EOPNOTSUPP)
		n->unsupported_xattrs |= make_bit(c, name);
	else if (rc == -ENODATA || (rc == 0 && !*name && !len))
		n->missing_xattrs |= make_bit(c, name);
}

/* Under the lock of n. */
static int fetch(struct cache *c, struct node *n, const char *name, struct buf *ret)
{
	const struct stat before = n->attr;
	struct inflight *f = inflight_new(&c->env, n, INFLIGHT_XATTR);
	int rc = -ENOMEM;

	if (!f)
		return rc;
	f->name = name ? strdup(name) : NULL;
	if (!name || f->name)
		rc = inflight_start(f, true);
	if (rc == 0)
		rc = inflight_wait(f);
	if (rc == 0)
		buf_put(ret, f->out.data, f->out.len);
	if (cache_is_known(n) && cache_is_same(&before, &n->attr))
		note_missing(c, n, name ? name : "", rc, ret->len);
	inflight_unref(f);
	return rc;
}

int cache_xattr(struct cache *c, struct node *n, const char *name, struct buf *ret)
{
	int rc;

	node_lock(c->nodes, n);
	if (!is_known_missing(c, n, name ? name : "", &rc))
		rc = fetch(c, n, name, ret);
	node_unlock(c->nodes, n);
	return rc < 0 ? rc : buf_error(ret);
}
