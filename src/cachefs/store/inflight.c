/* SPDX-License-Identifier: MIT */
#include "cachefs/store/inflight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "cachefs/memory/recheck.h"
#include "cachefs/memory/server_clocks.h"

#define WITNESS_BYTES 4096 /* at most */

/* Data that is read again is only compared. */
static void free_room(struct inflight *f)
{
	if (!f->is_recheck)
		return;
	pages_free(f->request.into, f->request.len);
	f->request.into = NULL;
}

static void free_inflight(struct awaited *a)
{
	struct inflight *f = (struct inflight *)a;

	if (f->chunk)
		chunk_end_read(f->chunk);
	free_room(f);
	node_unref(f->node, 1);
	storage_request_fini(&f->request);
	free(f);
}

struct inflight *inflight_new(struct inflight_env *env, struct node *n, enum storage_kind kind)
{
	struct inflight *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->env = env;
	f->node = f->awaited.node = node_ref(n);
	f->awaited.free = free_inflight;
	f->awaited.refs = 1;
	f->request.kind = kind;
	f->request.requester = f;
	f->before = n->attr;
	return f;
}

struct inflight *inflight_ref(struct inflight *f)
{
	awaited_ref(&f->awaited);
	return f;
}

void inflight_unref(struct inflight *f)
{
	awaited_unref(&f->awaited);
}

/* Does working storage return this error? Then it is not counted as a failure. */
static bool is_expected(const struct storage_request *r)
{
	return r->rc == -ENOENT || r->rc == -ENOTDIR || r->rc == -ESTALE || r->rc == -E2BIG ||
	       r->is_skipped || r->kind == STORAGE_XATTR || r->kind == STORAGE_SEEK ||
	       (r->kind == STORAGE_ACCESS && storage_is_refused(r));
}

static void log_failure(const struct inflight *f, const char *failure)
{
	if (failure)
		log_msg(LOG_DEBUG, "cache", "storage: /%s: %s", f->request.path.data, failure);
}

/* Under the node's lock. */
static void complete(struct inflight *f)
{
	for (int part = 0; part < NODE_PARTS; part++)
		if (f->node->inflight[part] == f)
			f->node->inflight[part] = NULL;
	f->rc = f->request.rc;
	f->env->complete(f);
	f->awaited.is_skipped = f->request.is_skipped;
}

int64_t inflight_age(const struct inflight *f)
{
	const struct storage_request *r = &f->request;

	return r->age_ns > r->took_ns ? r->age_ns : r->took_ns;
}

static struct witness witness_of(const struct storage_request *r)
{
	size_t len = r->read.len < WITNESS_BYTES ? r->read.len : WITNESS_BYTES;
	size_t skip = r->read.len - len;

	if (!len)
		return (struct witness){ .len = 0 };
	return (struct witness){
		.offset = r->offset + skip,
		.len = len,
		.hash = recheck_hash(r->read.is_hole ? NULL : r->into + skip, len),
	};
}

static struct server_now now_of_clocks(void)
{
	return (struct server_now){ .mono_ns = clock_mono_ns(), .wall_ns = clock_wall_ns() };
}

/* What the reply shows of the server's clock. */
static void note_clock(const struct inflight *f)
{
	const struct storage_request *r = &f->request;
	struct server_now now = now_of_clocks();

	if (r->rc < 0)
		return;
	if (r->kind == STORAGE_LOOKUP)
		server_clocks_note(f->env->clocks, &r->attr, now);
	for (size_t i = 0; i < r->done; i++)
		if (r->codes[i] == 0)
			server_clocks_note(f->env->clocks, &r->attrs[i], now);
}

/* By the server's clock: when storage was read, at the earliest. */
static int64_t server_time_read(const struct inflight *f)
{
	const struct storage_request *r = &f->request;
	struct server_now when = now_of_clocks();

	when.mono_ns -= inflight_age(f);
	when.wall_ns -= inflight_age(f);
	return r->read.has_our_clock ? when.wall_ns
				     : server_clocks_at(f->env->clocks, r->attr.st_dev, when);
}

/* Of data that will be, or has been, read once more. */
static void hash_data(struct inflight *f)
{
	const struct storage_request *r = &f->request;

	if (r->kind != STORAGE_READ || r->rc < 0)
		return;
	f->witness = witness_of(r);
	f->is_early = !f->is_recheck && recheck_is_early(&r->attr, server_time_read(f));
	if (f->is_early || f->is_recheck)
		f->hash = recheck_hash(r->read.is_hole ? NULL : r->into, r->read.len);
	free_room(f);
}

static void on_complete(struct storage_request *r)
{
	struct inflight *f = r->requester;
	struct inflight_env *env = f->env;
	const char *failure = NULL;
	struct waiter *waiters;

	if (r->rc < 0 && !is_expected(r)) {
		atomic_fetch_add(&env->queue.counts->failures, 1);
		failure = strerror(-r->rc);
	}
	for (size_t i = 0; r->rc == 0 && i < r->done; i++)
		if (r->codes[i] == 0)
			env->complete_name(f, i, &r->attrs[i]);
	note_clock(f);
	hash_data(f);
	if (f->chunk && r->rc == 0)
		chunk_filled(f->chunk, r->read.len, r->read.is_hole);
	node_lock(env->nodes, f->node);
	if (inflight_is_late(f) && !r->is_skipped)
		failure = "replied after the timeout";
	complete(f);
	waiters = waiters_take(env->waiters, &f->awaited);
	node_unlock(env->nodes, f->node);
	log_failure(f, failure);
	env->completed(f);
	waiters_resume(env->waiters, waiters);
	inflight_unref(f);
}

static bool is_needed(struct storage_request *r)
{
	struct inflight *f = r->requester;
	bool is_late;

	node_lock(f->env->nodes, f->node);
	is_late = inflight_is_late(f);
	node_unlock(f->env->nodes, f->node);
	return !is_late;
}

/* A write sets both times before it moves the end of the file, so what is appended to looks
 * rewritten for a moment. Measured on ext4: up to 0.1 s, when the writer waits for a CPU. */
static bool is_unsettled(const struct storage_request *r)
{
	const struct inflight *f = r->requester;
	const struct stat *then = &f->before, *now = &r->attr;

	return r->kind == STORAGE_LOOKUP && S_ISREG(now->st_mode) && then->st_ino == now->st_ino &&
	       then->st_dev == now->st_dev && then->st_size == now->st_size &&
	       server_ctime(then) != server_ctime(now) &&
	       now->st_mtim.tv_sec == now->st_ctim.tv_sec &&
	       now->st_mtim.tv_nsec == now->st_ctim.tv_nsec && atomic_load(&f->node->lookups) &&
	       recheck_is_early(now, server_time_read(f));
}

int inflight_start(struct inflight *f, const struct waiter *w)
{
	struct inflight_env *env = f->env;
	int rc = node_path(f->node, &f->request.path);

	if (rc < 0)
		return rc;
	f->request.who = w ? credentials_ref(w->who) : NULL;
	f->request.complete = on_complete;
	f->request.is_needed = is_needed;
	f->request.is_unsettled = is_unsettled;
	inflight_ref(f);
	waiters_expect(env->waiters);
	rc = storage_submit(&env->queue, &f->request, f->node->device, w != NULL);
	if (rc < 0)
		inflight_unref(f);
	return rc;
}

static enum storage_kind kind_of(enum node_part part)
{
	static const enum storage_kind kinds[NODE_PARTS] = {
		[NODE_ATTR] = STORAGE_LOOKUP,    [NODE_LIST] = STORAGE_LIST,
		[NODE_LINK] = STORAGE_READ_LINK, [NODE_NAMES] = STORAGE_LOOKUP_NAMES,
		[NODE_BYTES] = STORAGE_READ,     [NODE_RIGHTS] = STORAGE_ACCESS,
	};

	return kinds[part];
}

struct inflight *inflight_join(struct inflight_env *env, struct node *n, enum node_part part,
			       size_t max_entries, const struct waiter *w, int *ret_rc)
{
	struct inflight *f = n->inflight[part];

	if (f)
		return inflight_ref(f);
	f = inflight_new(env, n, kind_of(part));
	*ret_rc = -ENOMEM;
	if (!f)
		return NULL;
	f->request.max_entries = max_entries;
	f->request.is_fresh = part == NODE_ATTR && n->is_changed;
	*ret_rc = inflight_start(f, w);
	if (*ret_rc < 0) {
		inflight_unref(f);
		return NULL;
	}
	n->inflight[part] = f;
	return f;
}

int inflight_park(struct inflight *f, struct waiter *w)
{
	int rc = waiters_park(f->env->waiters, w, &f->awaited);

	inflight_unref(f);
	return rc;
}

bool inflight_is_late(const struct inflight *f)
{
	return waiters_are_late(f->env->waiters, &f->awaited);
}

static bool is_for(const struct inflight *f, const struct waiter *w)
{
	return !storage_is_refused(&f->request) || credentials_are_same(f->request.who, w->who);
}

struct inflight *inflight_last_reply(const struct waiter *w)
{
	struct inflight *last =
		w->count ? (struct inflight *)w->replies[(w->count - 1) % WAITER_REPLIES] : NULL;

	return last && is_for(last, w) ? last : NULL;
}

/* index: of a chunk; ignored for data that is not cached. */
static struct inflight *find_reply(const struct waiter *w, const struct node *n,
				   enum storage_kind kind, bool is_chunk, uint64_t index)
{
	for (unsigned i = w->count; i > 0 && i + WAITER_REPLIES > w->count; i--) {
		struct inflight *f = (struct inflight *)w->replies[(i - 1) % WAITER_REPLIES];

		if (f->node == n && f->request.kind == kind && !f->is_recheck && is_for(f, w) &&
		    !f->chunk == !is_chunk && (!is_chunk || f->chunk->index == index))
			return f;
	}
	return NULL;
}

struct inflight *inflight_reply(const struct waiter *w, const struct node *n,
				enum storage_kind kind)
{
	return find_reply(w, n, kind, false, 0);
}

struct inflight *inflight_chunk_reply(const struct waiter *w, const struct node *n, uint64_t index)
{
	return find_reply(w, n, STORAGE_READ, true, index);
}
