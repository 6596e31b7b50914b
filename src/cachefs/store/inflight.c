/* SPDX-License-Identifier: MIT */
#include "cachefs/store/inflight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "cachefs/memory/recheck.h"

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
	       r->is_skipped || r->kind == STORAGE_XATTR || r->kind == STORAGE_SEEK;
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

/* Of data that will be, or has been, read once more. */
static void hash_data(struct inflight *f)
{
	const struct storage_request *r = &f->request;

	if (r->kind != STORAGE_READ || r->rc < 0)
		return;
	f->is_early = !f->is_recheck && recheck_is_early(&r->attr, clock_wall_ns() - r->took_ns);
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
	for (size_t i = 0; r->kind == STORAGE_LOOKUP_NAMES && r->rc == 0 && i < r->done; i++)
		if (r->codes[i] == 0)
			env->complete_name(f, i, &r->attrs[i]);
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

int inflight_start(struct inflight *f, bool is_awaited)
{
	struct inflight_env *env = f->env;
	int rc = node_path(f->node, &f->request.path);

	if (rc < 0)
		return rc;
	f->request.complete = on_complete;
	f->request.is_needed = is_needed;
	inflight_ref(f);
	waiters_expect(env->waiters);
	rc = storage_submit(&env->queue, &f->request, f->node->device, is_awaited);
	if (rc < 0)
		inflight_unref(f);
	return rc;
}

static enum storage_kind kind_of(enum node_part part)
{
	static const enum storage_kind kinds[NODE_PARTS] = {
		[NODE_ATTR] = STORAGE_LOOKUP,    [NODE_LIST] = STORAGE_LIST,
		[NODE_LINK] = STORAGE_READ_LINK, [NODE_NAMES] = STORAGE_LOOKUP_NAMES,
		[NODE_BYTES] = STORAGE_READ,
	};

	return kinds[part];
}

struct inflight *inflight_join(struct inflight_env *env, struct node *n, enum node_part part,
			       size_t max_entries, bool is_awaited, int *ret_rc)
{
	struct inflight *f = n->inflight[part];

	if (f)
		return inflight_ref(f);
	f = inflight_new(env, n, kind_of(part));
	*ret_rc = -ENOMEM;
	if (!f)
		return NULL;
	f->request.max_entries = max_entries;
	*ret_rc = inflight_start(f, is_awaited);
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

struct inflight *inflight_last_reply(const struct waiter *w)
{
	return w->count ? (struct inflight *)w->replies[(w->count - 1) % WAITER_REPLIES] : NULL;
}

/* index: of a chunk; ignored for data that is not cached. */
static struct inflight *find_reply(const struct waiter *w, const struct node *n,
				   enum storage_kind kind, bool is_chunk, uint64_t index)
{
	for (unsigned i = w->count; i > 0 && i + WAITER_REPLIES > w->count; i--) {
		struct inflight *f = (struct inflight *)w->replies[(i - 1) % WAITER_REPLIES];

		if (f->node == n && f->request.kind == kind && !f->is_recheck &&
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
