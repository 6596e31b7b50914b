/* SPDX-License-Identifier: MIT */
#include "cachefs/store/inflight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define POLL_NS (NS_PER_S / 20) /* how often a waiting thread checks if its caller was killed */

struct inflight *inflight_new(struct inflight_env *env, struct node *n, enum inflight_kind kind)
{
	struct inflight *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->env = env;
	f->node = node_ref(n);
	f->kind = kind;
	f->refs = 1;
	return f;
}

void inflight_unref(struct inflight *f)
{
	if (--f->refs)
		return;
	node_unref(f->node, 1);
	dirlist_unref(f->listing);
	free(f->name);
	buf_fini(&f->out);
	free(f);
}

static int read_into_chunk(struct inflight *f, const char *path)
{
	const struct storage *s = &f->env->storage;
	struct chunk *chunk = f->chunk;
	size_t len = 0;
	int rc = s->ops->read_chunk(s->self, path, &f->attr, chunk->index * CHUNK_BYTES,
				    chunk->bytes, chunk->cap, &len);

	chunk->len = len;
	return rc == 0 && len != chunk->cap ? -ESTALE : rc;
}

static int read_bytes(struct inflight *f, const char *path)
{
	const struct storage *s = &f->env->storage;
	void *room = buf_reserve(&f->out, f->len);
	size_t len = 0;
	int rc;

	if (!room)
		return -ENOMEM;
	rc = s->ops->read_chunk(s->self, path, &f->attr, f->offset, room, f->len, &len);
	if (rc == 0)
		buf_grew(&f->out, len);
	return rc;
}

static int fetch_names(struct inflight *f, const char *path)
{
	const struct storage *s = &f->env->storage;
	struct stat *attrs = calloc(f->len, sizeof *attrs);
	int *codes = calloc(f->len, sizeof *codes), rc = -ENOMEM;
	size_t count = 0;

	if (attrs && codes)
		rc = s->ops->lookup_names(s->self, path, f->listing, (size_t)f->offset, f->len,
					  attrs, codes, &count);
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (codes[i] == 0)
			f->env->complete_name(f, i, &attrs[i]);
	free(attrs);
	free(codes);
	return rc;
}

static int call_storage(struct inflight *f, const char *path)
{
	const struct storage *s = &f->env->storage;

	switch (f->kind) {
	case INFLIGHT_ATTR:
		return s->ops->lookup(s->self, path, &f->attr);
	case INFLIGHT_LIST:
		return s->ops->list(s->self, path, f->max_entries, &f->listing);
	case INFLIGHT_LINK:
		return s->ops->read_link(s->self, path, &f->out);
	case INFLIGHT_NAMES:
		return fetch_names(f, path);
	case INFLIGHT_CHUNK:
		return read_into_chunk(f, path);
	case INFLIGHT_BYTES:
		return read_bytes(f, path);
	case INFLIGHT_XATTR:
		return s->ops->xattr(s->self, path, f->name, &f->out);
	case INFLIGHT_SEEK:
		return s->ops->seek(s->self, path, f->offset, f->whence, &f->number);
	case INFLIGHT_STAT_FS:
		return s->ops->stat_fs(s->self, path, &f->fs);
	}
	return -EINVAL;
}

/* Does working storage return this error? Then it is not counted as a failure. */
static bool is_expected(const struct inflight *f, int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -ESTALE || rc == -E2BIG ||
	       f->kind == INFLIGHT_XATTR || f->kind == INFLIGHT_SEEK;
}

/* Under the node's lock. */
static void complete(struct inflight *f)
{
	if (f->kind < (int)NODE_PARTS && f->node->inflight[f->kind] == f)
		f->node->inflight[f->kind] = NULL;
	f->env->complete(f);
	f->done = true;
	node_wake(f->env->nodes, f->node);
}

static void run(struct job *job)
{
	struct inflight *f = (struct inflight *)job;
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct inflight_env *env = f->env;
	struct node *n = node_ref(f->node);
	int rc = node_path(n, &path);
	const char *failure = NULL;

	atomic_fetch_add(&env->counts->calls, 1);
	if (rc == 0)
		rc = call_storage(f, path.data);
	if (rc < 0 && !is_expected(f, rc)) {
		atomic_fetch_add(&env->counts->failures, 1);
		failure = strerror(-rc);
	}
	node_lock(env->nodes, n);
	if (inflight_is_late(f))
		failure = "replied after the timeout";
	f->rc = rc;
	complete(f);
	inflight_unref(f);
	node_unlock(env->nodes, n);
	node_unref(n, 1);
	if (failure)
		log_msg(LOG_DEBUG, "cache", "storage: /%s: %s", path.data ? path.data : "",
			failure);
	env->completed(env->context);
}

int inflight_start(struct inflight *f, bool is_awaited)
{
	int rc = 0;

	f->job.run = run;
	f->refs++;
	if (is_awaited && f->env->hooks.begin_storage)
		return 0; /* the first caller of inflight_wait starts it */
	f->is_started = true;
	rc = pool_submit(f->env->pool, &f->job, is_awaited);
	if (rc < 0)
		f->refs--;
	return rc;
}

struct inflight *inflight_join(struct inflight_env *env, struct node *n, enum node_part part,
			       size_t max_entries, bool is_awaited, int *ret_rc)
{
	struct inflight *f = n->inflight[part];

	if (f) {
		f->refs++;
		return f;
	}
	f = inflight_new(env, n, (enum inflight_kind)part);
	*ret_rc = -ENOMEM;
	if (!f)
		return NULL;
	f->max_entries = max_entries;
	*ret_rc = inflight_start(f, is_awaited);
	if (*ret_rc < 0) {
		inflight_unref(f);
		return NULL;
	}
	n->inflight[part] = f;
	return f;
}

/* Calls storage in this thread, if it may, else in the pool. Returns what was replied to the caller
 * meanwhile, or 0. */
static int start_storage_call(struct inflight *f)
{
	struct inflight_env *env = f->env;
	int rc;

	f->is_started = true;
	if (!env->hooks.begin_storage()) {
		rc = pool_submit(env->pool, &f->job, true);
		if (rc < 0) {
			f->rc = rc;
			complete(f);
			f->refs--;
		}
		return 0;
	}
	node_unlock(env->nodes, f->node);
	run(&f->job);
	node_lock(env->nodes, f->node);
	return env->hooks.end_storage();
}

static int wait_until(struct inflight *f, int64_t until_ns)
{
	struct inflight_env *env = f->env;
	int rc = 0;

	if (!f->is_started)
		rc = start_storage_call(f);
	if (rc == 0 && !f->done && env->hooks.will_wait)
		env->hooks.will_wait();
	while (rc == 0 && !f->done) {
		int64_t now_ns = clock_mono_ns();

		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		if (env->hooks.is_interrupted && env->hooks.is_interrupted())
			return -EINTR;
		node_wait(env->nodes, f->node,
			  until_ns - now_ns > POLL_NS ? now_ns + POLL_NS : until_ns);
	}
	return rc;
}

bool inflight_is_late(const struct inflight *f)
{
	return f->wait_start_ns && clock_mono_ns() - f->wait_start_ns >= f->env->timeout_ns;
}

int inflight_wait(struct inflight *f)
{
	struct inflight_env *env = f->env;
	int64_t start_ns = clock_mono_ns();
	int rc;

	if (!f->wait_start_ns)
		f->wait_start_ns = start_ns;
	rc = wait_until(f, f->wait_start_ns + env->timeout_ns);
	if (env->hooks.waited)
		env->hooks.waited(clock_mono_ns() - start_ns);
	if (rc == -ETIMEDOUT)
		atomic_fetch_add(&env->counts->timeouts, 1);
	else if (rc == -EINTR)
		atomic_fetch_add(&env->counts->interrupts, 1);
	return rc < 0 ? rc : f->rc;
}
