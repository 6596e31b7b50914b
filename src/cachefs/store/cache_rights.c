/* SPDX-License-Identifier: MIT */
/* cache_rights: what users may do, where only storage knows. Its answers are cached for each user.
 */
#include <errno.h>

#include "base/clock.h"
#include "cachefs/store/cache_internal.h"

bool cache_asks_rights(const struct cache *c)
{
	return c->opts.asks_rights;
}

/* mode: a right of others. */
static bool lacks(struct cache *c, struct node *n, mode_t mode)
{
	bool ret;

	node_lock(c->nodes, n);
	ret = n->attr.st_ino && !(n->attr.st_mode & mode);
	node_unlock(c->nodes, n);
	return ret;
}

bool cache_was_refused(struct cache *c, const struct waiter *w)
{
	const struct inflight *last = inflight_last_reply(w);

	if (w->who || !last || !storage_is_refused(&last->request))
		return false;
	if (last->request.kind != STORAGE_LOOKUP && lacks(c, last->node, S_IROTH))
		return true;
	for (struct node *n = last->node->parent; n; n = n->parent)
		if (lacks(c, n, S_IXOTH))
			return true;
	return false;
}

void cache_complete_rights(struct cache *c, struct inflight *f)
{
	const struct storage_request *r = &f->request;
	int64_t until_ns = c->opts.ttl_ns == CACHE_FOREVER
				   ? CACHE_FOREVER
				   : clock_mono_ns() - inflight_age(f) + c->opts.ttl_ns;

	if (r->rc == 0 || storage_is_refused(r))
		answers_put(c->answers, r->who, &r->attr, r->wanted, r->rc == 0, until_ns);
}

/* Under the lock of n: parks w at a request for the same, or starts one. */
static int ask(struct cache *c, struct waiter *w, struct node *n, const struct stat *attr,
	       int wanted)
{
	struct inflight *f = n->inflight[NODE_RIGHTS];
	int rc;

	if (f && f->request.wanted == wanted && credentials_are_same(f->request.who, w->who) &&
	    cache_is_same(&f->request.attr, attr))
		return inflight_park(inflight_ref(f), w);
	f = inflight_new(&c->env, n, STORAGE_ACCESS);
	if (!f)
		return -ENOMEM;
	f->request.attr = *attr;
	f->request.wanted = wanted;
	rc = inflight_start(f, w);
	if (rc < 0) {
		inflight_unref(f);
		return rc;
	}
	if (!n->inflight[NODE_RIGHTS])
		n->inflight[NODE_RIGHTS] = f;
	return inflight_park(f, w);
}

int cache_may(struct cache *c, struct waiter *w, struct node *n, int wanted)
{
	const struct inflight *reply = inflight_reply(w, n, STORAGE_ACCESS);
	enum answer answer;
	struct stat attr;
	int64_t ttl_ns;
	int rc;

	if (!w->who)
		return -EACCES;
	if (reply && reply->request.wanted == wanted)
		return storage_is_refused(&reply->request) ? -EACCES : reply->rc;
	rc = cache_attr(c, w, n, &attr, &ttl_ns);
	if (rc)
		return rc;
	answer = answers_find(c->answers, w->who, &attr, wanted, clock_mono_ns());
	if (answer != ANSWER_UNKNOWN)
		return answer == ANSWER_YES ? 0 : -EACCES;
	node_lock(c->nodes, n);
	rc = ask(c, w, n, &attr, wanted);
	node_unlock(c->nodes, n);
	return rc;
}
