/* SPDX-License-Identifier: MIT */
/*
 * cache_xattrs: extended attributes. Values are asked of storage each time; which of those that
 * everybody asks for a file does not have, is kept with it, a bit each: "ls -l" alone asks three
 * times for what hardly any file has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachefs/store/flight.h"

static uint16_t bit_of(size_t i)
{
	return (uint16_t)(1u << i);
}

/* 0: it is none of those. */
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

/* The same, and from here on it is one of those. 0: there are enough, or out of memory. */
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

/* Under the lock of n, before and after it was asked for: name "" is the list of all. */
static bool is_lacking(struct cache *c, struct node *n, const char *name, int *ret_rc)
{
	uint16_t bit = cache_is_known(n) ? find_bit(c, name) : 0;

	if (n->refused_xattrs & bit)
		*ret_rc = -EOPNOTSUPP;
	else if (n->lacking_xattrs & bit)
		*ret_rc = *name ? -ENODATA : 0;
	else
		return false;
	return true;
}

static void note_lacking(struct cache *c, struct node *n, const char *name, int rc, size_t len)
{
	if (rc == -EOPNOTSUPP)
		n->refused_xattrs |= make_bit(c, name);
	else if (rc == -ENODATA || (rc == 0 && !*name && !len))
		n->lacking_xattrs |= make_bit(c, name);
}

/* Under the lock of n. */
static int ask(struct cache *c, struct node *n, const char *name, struct buf *ret)
{
	const struct stat before = n->attr;
	struct flight *f = flight_new(c, n, FLIGHT_XATTR);
	int rc = -ENOMEM;

	if (!f)
		return rc;
	f->name = name ? strdup(name) : NULL;
	if (!name || f->name)
		rc = flight_start(f, true);
	if (rc == 0)
		rc = flight_wait(f);
	if (rc == 0)
		buf_put(ret, f->out.data, f->out.len);
	if (cache_is_known(n) && cache_is_same(&before, &n->attr))
		note_lacking(c, n, name ? name : "", rc, ret->len);
	flight_unref(f);
	return rc;
}

int cache_xattr(struct cache *c, struct node *n, const char *name, struct buf *ret)
{
	int rc;

	node_lock(c->nodes, n);
	if (!is_lacking(c, n, name ? name : "", &rc))
		rc = ask(c, n, name, ret);
	node_unlock(c->nodes, n);
	return rc < 0 ? rc : buf_error(ret);
}
