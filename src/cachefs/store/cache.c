/* SPDX-License-Identifier: MIT */
#include "cachefs/store/cache.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "cachefs/store/cache_internal.h"

#define STOP_NS NS_PER_S /* how long cache_close waits for storage */
#define REPLACED_TRIES 3 /* lookups of a file that is being replaced */

/* The rest of the budget can be evicted when it must. */
#define PASSTHROUGH_SHARE(budget) ((budget) / 4 * 3)

static void init_requests(struct cache *c, struct storage storage)
{
	struct pool *pool = pool_new(c->opts.max_threads, c->opts.timeout_ns);

	c->env = (struct inflight_env){
		.queue = { storage, pool, &c->counts.storage },
		.nodes = c->nodes,
		.clocks = &c->clocks,
		.context = c,
		.complete = cache_complete,
		.complete_name = cache_complete_name,
		.completed = cache_completed,
	};
	if (pool)
		c->env.waiters = waiters_new(pool, &c->counts.storage, c->opts.timeout_ns);
	if (c->env.waiters)
		waiters_on_unblock(c->env.waiters, notifier_unblocked, &c->notifier);
	c->passthroughs = (struct passthroughs){
		.nodes = c->nodes,
		.pool = pool,
		.max_bytes = PASSTHROUGH_SHARE(c->opts.budget_bytes),
		.is_ending = &c->is_ending,
	};
}

int cache_open(struct storage storage, const struct cache_opts *o, struct cache **ret,
	       struct err *e)
{
	struct cache *c = calloc(1, sizeof *c);

	if (!c)
		return err_nomem(e);
	c->opts = *o;
	if (c->opts.negative_ttl_ns > o->ttl_ns)
		c->opts.negative_ttl_ns = o->ttl_ns;
	pthread_mutex_init(&c->evictor_lock, NULL);
	pthread_mutex_init(&c->clocks.lock, NULL);
	compat_cond_init(&c->evictor_wake);
	c->nodes = nodes_new(&c->usage, passthrough_release);
	c->chunks = c->nodes ? chunks_new(c->nodes, &c->usage, o->budget_bytes) : NULL;
	if (c->chunks && o->passthrough)
		chunks_enable_backing(c->chunks, o->budget_bytes);
	notifier_init(&c->notifier, c->nodes, &c->kernel);
	c->answers = o->asks_rights ? answers_new() : NULL;
	if (c->chunks && (c->answers || !o->asks_rights))
		init_requests(c, storage);
	if (!c->env.waiters) {
		if (c->env.queue.pool)
			(void)!pool_stop(c->env.queue.pool, STOP_NS);
		notifier_fini(&c->notifier);
		answers_free(c->answers);
		chunks_free(c->chunks);
		nodes_free(c->nodes);
		free(c);
		return err_nomem(e);
	}
	*ret = c;
	return 0;
}

int cache_start_evictor(struct cache *c, struct cache_kernel kernel, struct err *e)
{
	int rc;

	c->kernel = kernel;
	c->passthroughs.fuse_fd = kernel.fuse_fd;
	rc = notifier_start(&c->notifier, e);
	if (rc < 0)
		return rc;
	rc = pthread_create(&c->evictor, NULL, cache_evictor, c);
	if (rc)
		return err_set(e, -rc, "cannot start a thread: %s", strerror(rc));
	c->has_evictor = true;
	return 0;
}

void cache_stop_evictor(struct cache *c)
{
	c->is_ending = true;
	notifier_stop(&c->notifier);
	if (!c->has_evictor)
		return;
	pthread_mutex_lock(&c->evictor_lock);
	pthread_cond_signal(&c->evictor_wake);
	pthread_mutex_unlock(&c->evictor_lock);
	pthread_join(c->evictor, NULL);
	c->has_evictor = false;
}

bool cache_close(struct cache *c)
{
	c->is_ending = true;
	if (!pool_stop(c->env.queue.pool, STOP_NS))
		return false;
	waiters_free(c->env.waiters);
	cache_stop_evictor(c);
	notifier_fini(&c->notifier);
	answers_free(c->answers);
	chunks_free(c->chunks);
	nodes_free(c->nodes);
	for (size_t i = 0; i < CACHE_XATTRS; i++)
		free(c->xattrs[i]);
	pthread_mutex_destroy(&c->clocks.lock);
	pthread_mutex_destroy(&c->evictor_lock);
	pthread_cond_destroy(&c->evictor_wake);
	free(c);
	return true;
}

void cache_fail_requests(struct cache *c)
{
	waiters_fail(c->env.waiters, -ENOTCONN);
}

unsigned cache_hanging(struct cache *c)
{
	return pool_hanging(c->env.queue.pool);
}

bool cache_has_waited(struct cache *c, int64_t ns)
{
	return waiters_have_waited(c->env.waiters, ns);
}

void cache_interrupt(struct cache *c, struct waiter *w)
{
	waiters_interrupt(c->env.waiters, w);
}

struct node *cache_root(struct cache *c)
{
	return nodes_root(c->nodes);
}

struct nodes *cache_nodes(struct cache *c)
{
	return c->nodes;
}

struct passthroughs *cache_passthroughs(struct cache *c)
{
	return &c->passthroughs;
}

struct usage *cache_usage(struct cache *c)
{
	return &c->usage;
}

struct cache_counts *cache_counts(struct cache *c)
{
	return &c->counts;
}

/* Under the lock of n: is its cached state valid? If it has expired, it is dropped. */
static bool is_known(struct cache *c, struct node *n, bool *ret_was_absent)
{
	*ret_was_absent = n->state == NODE_NEGATIVE;
	if (n->state == NODE_UNKNOWN)
		return false;
	if (n->expires_ns == CACHE_FOREVER || clock_mono_ns() < n->expires_ns)
		return true;
	if (n->state == NODE_NEGATIVE)
		cache_count_negative(c, n, NEGATIVE_EXPIRE);
	n->state = NODE_UNKNOWN;
	return false;
}

int64_t cache_time_left(int64_t until_ns)
{
	int64_t now;

	if (until_ns == CACHE_FOREVER)
		return CACHE_FOREVER;
	now = clock_mono_ns();
	return until_ns > now ? until_ns - now : 0;
}

/* Under the lock of n: parks w at the request for this part of n, joined or started. */
static int park(struct cache *c, struct waiter *w, struct node *n, enum node_part part,
		size_t max_entries)
{
	int rc = 0;
	struct inflight *f = inflight_join(&c->env, n, part, max_entries, w, &rc);

	return f ? inflight_park(f, w) : rc;
}

int cache_get_attr(struct cache *c, struct waiter *w, struct node *n, struct stat *ret,
		   int64_t *ret_ttl_ns)
{
	const struct inflight *reply = inflight_reply(w, n, STORAGE_LOOKUP);
	bool was_negative;
	int rc;

	*ret_ttl_ns = 0;
	if (cache_keeps_version(n)) {
		*ret = n->attr;
		*ret_ttl_ns = c->opts.ttl_ns;
		return 0;
	}
	if (n->is_detached)
		return -ESTALE;
	if (reply && reply->rc < 0) {
		*ret_ttl_ns = n->state == NODE_NEGATIVE ? cache_time_left(n->expires_ns) : 0;
		return reply->rc;
	}
	if (is_known(c, n, &was_negative)) {
		*ret_ttl_ns = cache_time_left(n->expires_ns);
		*ret = n->attr;
		if (n->state == NODE_PRESENT)
			return 0;
		cache_count_negative(c, n, NEGATIVE_SERVE);
		return -ENOENT;
	}
	if (reply) {
		*ret = reply->request.attr;
		return 0;
	}
	rc = park(c, w, n, NODE_ATTR, 0);
	if (n->inflight[NODE_ATTR])
		n->inflight[NODE_ATTR]->was_negative |= was_negative;
	return rc;
}

void cache_show_size(const struct node *n, struct stat *attr, int64_t *ttl_ns)
{
	if (!n->is_growing || n->is_detached)
		return;
	attr->st_size = n->shown_size;
	*ttl_ns = 0;
}

/* Under the lock of the folder: does its listing prove that there is no such name? Else storage is
 * asked, and where it has no such name either, that is true until *ret_unlisted_until_ns. */
static bool is_unlisted(struct node *folder, const char *name, int64_t *ret_ttl_ns,
			int64_t *ret_unlisted_until_ns)
{
	bool lacks;

	*ret_unlisted_until_ns = 0;
	if (!folder->listing || dirlist_has(folder->listing, name))
		return false;
	*ret_ttl_ns = cache_time_left(folder->listing_expires_ns);
	lacks = *ret_ttl_ns > 0 && dirlist_lacks(folder->listing, name);
	if (*ret_ttl_ns > 0)
		*ret_unlisted_until_ns = folder->listing_expires_ns;
	return lacks;
}

/* -ESTALE: another file has the name, and the next call finds it. */
static int look_up(struct cache *c, struct waiter *w, struct node *parent, const char *name,
		   int64_t unlisted_until_ns, struct node **ret, struct stat *ret_attr,
		   int64_t *ret_ttl_ns)
{
	struct node *n = nodes_get(c->nodes, parent, name);
	int rc;

	if (!n)
		return -ENOMEM;
	node_lock(c->nodes, n);
	rc = cache_get_attr(c, w, n, ret_attr, ret_ttl_ns);
	cache_show_size(n, ret_attr, ret_ttl_ns);
	if (rc == -ENOENT && n->state == NODE_NEGATIVE && unlisted_until_ns > n->expires_ns) {
		n->expires_ns = unlisted_until_ns;
		*ret_ttl_ns = cache_time_left(unlisted_until_ns);
	}
	if (rc == 0 && n->recheck && cache_recheck(c, w, n, 0) == CACHE_PARKED)
		rc = CACHE_PARKED;
	if (rc == 0 && n->is_detached)
		rc = -ESTALE;
	node_unlock(c->nodes, n);
	if (rc == 0)
		*ret = n;
	else
		node_unref(n, 1);
	return rc;
}

int cache_lookup(struct cache *c, struct waiter *w, struct node *parent, const char *name,
		 struct node **ret, struct stat *ret_attr, int64_t *ret_ttl_ns)
{
	int64_t unlisted_until_ns;
	bool is_absent;
	int rc, tries = 0;

	*ret_ttl_ns = 0;
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	node_lock(c->nodes, parent);
	is_absent = is_unlisted(parent, name, ret_ttl_ns, &unlisted_until_ns);
	node_unlock(c->nodes, parent);
	if (is_absent)
		return -ENOENT;
	do
		rc = look_up(c, w, parent, name, unlisted_until_ns, ret, ret_attr, ret_ttl_ns);
	while (rc == -ESTALE && tries++ < REPLACED_TRIES);
	cache_check_budget(c);
	return rc;
}

int cache_fetch_attr(struct cache *c, struct waiter *w, struct node *n)
{
	return park(c, w, n, NODE_ATTR, 0);
}

int cache_attr(struct cache *c, struct waiter *w, struct node *n, struct stat *ret,
	       int64_t *ret_ttl_ns)
{
	int rc;

	node_lock(c->nodes, n);
	rc = cache_get_attr(c, w, n, ret, ret_ttl_ns);
	cache_show_size(n, ret, ret_ttl_ns);
	node_unlock(c->nodes, n);
	return rc;
}

uint64_t cache_number(struct cache *c, struct node *n)
{
	uint64_t number;

	node_lock(c->nodes, n);
	number = n->attr.st_ino;
	node_unlock(c->nodes, n);
	return number;
}

/* Under the lock of n. A listing that a mere lookup requested fails at its limit: then it is
 * requested again. */
static int get_listing(struct cache *c, struct waiter *w, struct node *n, struct dirlist **ret)
{
	const struct inflight *reply = inflight_reply(w, n, STORAGE_LIST);

	if (reply && (reply->rc != -E2BIG || reply->request.max_entries == SIZE_MAX)) {
		if (reply->rc == 0)
			*ret = dirlist_ref(reply->request.listing);
		return reply->rc;
	}
	if (n->listing && cache_time_left(n->listing_expires_ns) > 0) {
		*ret = dirlist_ref(n->listing);
		return 0;
	}
	return park(c, w, n, NODE_LIST, SIZE_MAX);
}

int cache_list(struct cache *c, struct waiter *w, struct node *n, size_t from, struct dirlist **ret)
{
	int rc;

	node_lock(c->nodes, n);
	rc = get_listing(c, w, n, ret);
	if (rc == 0)
		n->listing_read_ns =
			from < dirlist_count(*ret) ? clock_mono_ns() + LISTING_READ_NS : 0;
	node_unlock(c->nodes, n);
	return rc;
}

int cache_link(struct cache *c, struct waiter *w, struct node *n, struct buf *ret)
{
	const struct inflight *reply = inflight_reply(w, n, STORAGE_READ_LINK);
	int rc = 0;

	if (reply && reply->rc < 0)
		return reply->rc;
	node_lock(c->nodes, n);
	if (reply)
		buf_put(ret, reply->request.out.data, reply->request.out.len);
	else if (n->link)
		buf_put_str(ret, n->link);
	else
		rc = park(c, w, n, NODE_LINK, 0);
	node_unlock(c->nodes, n);
	return rc ? rc : buf_error(ret);
}

bool cache_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec &&
	       (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

bool cache_keeps_version(const struct node *n)
{
	return n->is_detached && S_ISREG(n->attr.st_mode);
}

/* Would the request be for another file, or another version of it? */
static bool is_of_other(const struct inflight *f)
{
	return cache_keeps_version(f->node) && f->request.kind != STORAGE_STAT_FS;
}

int cache_fetch(struct inflight *f, struct waiter *w)
{
	int rc = is_of_other(f) ? -ESTALE : inflight_start(f, w);

	if (rc == 0)
		return inflight_park(f, w);
	inflight_unref(f);
	return rc;
}

int cache_seek(struct cache *c, struct waiter *w, struct node *n, uint64_t offset, int whence,
	       uint64_t *ret)
{
	const struct inflight *reply = inflight_reply(w, n, STORAGE_SEEK);
	struct inflight *f;
	int rc = -ENOMEM;

	if (reply) {
		*ret = reply->request.number;
		return reply->rc;
	}
	node_lock(c->nodes, n);
	f = inflight_new(&c->env, n, STORAGE_SEEK);
	if (f) {
		f->request.offset = offset;
		f->request.whence = whence;
		rc = cache_fetch(f, w);
	}
	node_unlock(c->nodes, n);
	return rc;
}

int cache_stat_fs(struct cache *c, struct waiter *w, struct node *n, struct statvfs *ret)
{
	const struct inflight *reply = inflight_reply(w, n, STORAGE_STAT_FS);
	struct inflight *f;
	int rc = -ENOMEM;

	if (reply) {
		*ret = reply->request.fs;
		return reply->rc;
	}
	node_lock(c->nodes, n);
	f = inflight_new(&c->env, n, STORAGE_STAT_FS);
	if (f)
		rc = cache_fetch(f, w);
	node_unlock(c->nodes, n);
	return rc;
}

void cache_enable_path_counts(struct cache *c)
{
	nodes_enable_counts(c->nodes);
	c->has_path_counts = true;
}

struct path_counts *cache_path_counts(struct cache *c, struct node *n)
{
	return node_counts(c->nodes, n);
}

void cache_count_failed_lookup(struct cache *c, struct node *parent, const char *name, int64_t ns,
			       enum request_result result)
{
	struct path_counts *counts;
	struct node *n;

	if (!c->has_path_counts || strnlen(name, NAME_MAX + 1) > NAME_MAX)
		return;
	n = nodes_get(c->nodes, parent, name);
	if (!n)
		return;
	counts = node_counts(c->nodes, n);
	if (counts)
		path_counts_add(counts, PATH_METADATA, result, ns, 0);
	node_unref(n, 1);
}

void cache_count_negative(struct cache *c, struct node *n, enum negative_event event)
{
	struct path_counts *counts = node_counts(c->nodes, n);

	atomic_fetch_add(&c->counts.negatives[event], 1);
	if (counts)
		atomic_fetch_add_explicit(&counts->negatives[event], 1, memory_order_relaxed);
}

int cache_visit(struct cache *c, void (*visit)(void *context, struct node *n), void *context)
{
	return nodes_visit(c->nodes, visit, context);
}
