/* SPDX-License-Identifier: MIT */
/* cache_names: attributes of what is in a folder, for who lists it. */
#include <errno.h>

#include "base/clock.h"
#include "cachefs/flight.h"

bool cache_is_known(const struct node *n)
{
	return n->state == NODE_PRESENT && !n->is_gone && !n->is_stale &&
	       (n->expires_ns == CACHE_FOR_EVER || clock_mono_ns() < n->expires_ns);
}

/* Counted, with *ret_attr; NULL: it is not known. */
static struct node *get_known(struct cache *c, struct node *folder, const char *name,
			      struct stat *ret_attr)
{
	struct node *n = nodes_get(c->nodes, folder, name);
	bool is_known;

	if (!n)
		return NULL;
	node_lock(c->nodes, n);
	is_known = cache_is_known(n);
	if (n->state == NODE_PRESENT && !is_known)
		n->state = NODE_UNKNOWN; /* has run out: what is found now counts */
	*ret_attr = n->attr;
	node_unlock(c->nodes, n);
	if (is_known)
		return n;
	node_unref(n, 1);
	return NULL;
}

/* How many are not known. */
static size_t collect(struct cache *c, struct node *folder, const struct dirlist *names,
		      size_t from, size_t count, struct node **ret, struct stat *ret_attr)
{
	size_t missing = 0;

	for (size_t i = 0; i < count; i++) {
		if (!ret[i])
			ret[i] = get_known(c, folder, dirlist_name(names, from + i), &ret_attr[i]);
		missing += !ret[i];
	}
	return missing;
}

/* Under the lock of n: asks, unless somebody does already. Whether it came is seen afterwards: who
 * lists a folder gets what is known. */
static int ask(struct cache *c, struct node *n, struct dirlist *names, size_t from, size_t count)
{
	struct flight *f = n->flights[NODE_NAMES];
	int rc;

	if (f) {
		f->refs++;
	} else {
		f = flight_new(c, n, FLIGHT_NAMES);
		if (!f)
			return -ENOMEM;
		f->listing = dirlist_ref(names);
		f->offset = from;
		f->len = count;
		rc = flight_start(f, true);
		if (rc < 0) {
			flight_unref(f);
			return rc;
		}
		n->flights[NODE_NAMES] = f;
	}
	rc = flight_wait(f);
	flight_unref(f);
	return rc;
}

void cache_lookup_names(struct cache *c, struct node *n, struct dirlist *names, size_t from,
			size_t count, struct node **ret, struct stat *ret_attr)
{
	int rc;

	for (size_t i = 0; i < count; i++)
		ret[i] = NULL;
	if (!collect(c, n, names, from, count, ret, ret_attr))
		return;
	node_lock(c->nodes, n);
	rc = ask(c, n, names, from, count);
	node_unlock(c->nodes, n);
	if (rc == 0)
		collect(c, n, names, from, count, ret, ret_attr);
}
