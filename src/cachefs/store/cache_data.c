/* SPDX-License-Identifier: MIT */
/* cache_data: the data of files. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/pages.h"
#include "cachefs/memory/recheck.h"
#include "cachefs/store/cache_internal.h"

#define RECHECKS 4     /* parts that are read again at once */
#define AHEAD_CHUNKS 4 /* chunks of read-ahead in a sequential read */
/* For a reader of a file that others append to: ten times what a write was seen to take (0.1 s). */
#define CATCH_UP_NS NS_PER_S

/*
 * Under the lock of n: the chunk, filled or being filled, with the caller as a reader.
 * w: as of inflight_start. *ret_inflight: the request that fills it, with a reference; NULL: it is
 * filled.
 */
static int get_chunk(struct cache *c, const struct waiter *w, struct node *n,
		     const struct stat *attr, uint64_t index, struct chunk **ret,
		     struct inflight **ret_inflight)
{
	struct chunk *chunk = chunks_find(n, index);
	struct inflight *f;
	int rc;

	if (chunk) {
		chunk_begin_read(chunk);
		*ret_inflight = chunk->inflight ? inflight_ref(chunk->inflight) : NULL;
		*ret = chunk;
		return 0;
	}
	if (n->is_detached)
		return -ESTALE;
	f = inflight_new(&c->env, n, STORAGE_READ);
	if (!f)
		return -ENOMEM;
	chunk = chunks_add(c->chunks, n, index, (uint64_t)attr->st_size);
	if (!chunk) {
		inflight_unref(f);
		return -ENOMEM;
	}
	f->chunk = chunk;
	f->request.attr = *attr;
	f->request.offset = index * CHUNK_BYTES;
	f->request.into = chunk->bytes;
	f->request.len = chunk->cap;
	chunk_begin_read(chunk); /* for the request */
	chunk->inflight = f;
	rc = inflight_start(f, w);
	if (rc < 0) {
		chunk->inflight = NULL;
		chunk_invalidate(chunk);
		chunk_end_read(chunk);
		inflight_unref(f);
		return rc;
	}
	*ret = chunk;
	*ret_inflight = f;
	return 0;
}

/* Under the lock of n: requests the next chunks of a sequential read. */
static void read_ahead(struct cache *c, struct node *n, const struct stat *attr, uint64_t last)
{
	uint64_t end = ((uint64_t)attr->st_size + CHUNK_BYTES - 1) / CHUNK_BYTES;
	bool in_order = last == n->next_chunk || last + 1 == n->next_chunk;

	n->next_chunk = last + 1;
	if (!in_order || c->opts.budget_bytes < 4 * AHEAD_CHUNKS * CHUNK_BYTES)
		return;
	for (uint64_t i = last + 1; i < end && i <= last + AHEAD_CHUNKS; i++) {
		struct inflight *f = NULL;
		struct chunk *chunk;

		if (chunks_find(n, i))
			continue;
		if (get_chunk(c, NULL, n, attr, i, &chunk, &f) < 0)
			return;
		chunk_end_read(chunk);
		if (f)
			inflight_unref(f);
	}
}

/* The reply that w has for the chunk, unless the file changed since. It has the chunk also when it
 * was evicted since. */
static const struct inflight *chunk_reply(const struct waiter *w, const struct node *n,
					  const struct stat *attr, uint64_t index)
{
	const struct inflight *reply = inflight_chunk_reply(w, n, index);

	return reply && cache_is_same(&reply->request.attr, attr) ? reply : NULL;
}

/* Under the lock of n. All chunks are requested before w is parked at the first that is missing:
 * *ret_missing, with a reference. */
static int get_chunks(struct cache *c, const struct waiter *w, struct node *n,
		      const struct stat *attr, uint64_t offset, size_t len, struct cache_data *data,
		      struct inflight **ret_missing)
{
	uint64_t first = offset / CHUNK_BYTES, last = (offset + len - 1) / CHUNK_BYTES;
	bool has_waited = false;
	int rc = 0;

	for (uint64_t i = first; i <= last && rc == 0; i++) {
		const struct inflight *reply = chunk_reply(w, n, attr, i);
		struct inflight *f = NULL;

		if (reply && reply->rc == 0) {
			chunk_begin_read(reply->chunk);
			data->chunks[data->count] = reply->chunk;
		} else if (reply) {
			rc = reply->rc;
		} else {
			rc = get_chunk(c, w, n, attr, i, &data->chunks[data->count], &f);
		}
		has_waited |= reply != NULL;
		data->count += rc == 0;
		if (f && !*ret_missing)
			*ret_missing = f;
		else if (f)
			inflight_unref(f);
	}
	if (rc == 0 && !has_waited)
		read_ahead(c, n, attr, last);
	return rc;
}

static void cut_spans(uint64_t offset, size_t len, struct cache_data *data)
{
	for (size_t i = 0; i < data->count; i++) {
		size_t skip = (size_t)(offset % CHUNK_BYTES), end = data->chunks[i]->len;
		size_t n = end > skip ? end - skip : 0;

		if (n > len)
			n = len;
		data->at[i] = data->chunks[i]->bytes + skip;
		data->len[i] = n;
		offset += n;
		len -= n;
	}
}

static int read_cached(struct cache *c, struct waiter *w, struct node *n, const struct stat *attr,
		       uint64_t offset, size_t len, struct cache_data *ret)
{
	struct inflight *missing = NULL;
	int rc;

	node_lock(c->nodes, n);
	rc = get_chunks(c, w, n, attr, offset, len, ret, &missing);
	if (rc == 0 && missing)
		rc = inflight_park(missing, w);
	else if (missing)
		inflight_unref(missing);
	node_unlock(c->nodes, n);
	if (rc)
		cache_data_fini(ret);
	else
		cut_spans(offset, len, ret);
	return rc;
}

/* Evicts data, to fit in these bytes of a file. */
static void make_room(struct cache *c, const struct stat *attr, uint64_t offset, size_t len)
{
	uint64_t begin = offset / CHUNK_BYTES * CHUNK_BYTES, end = offset + len + CHUNK_BYTES;
	uint64_t room = (end < (uint64_t)attr->st_size ? end : (uint64_t)attr->st_size) - begin;

	room += CACHE_SPANS * CHUNK_EXTRA;
	if (room < c->opts.budget_bytes)
		chunks_shrink(c->chunks, c->opts.budget_bytes - room);
}

/* Under the lock of the node. While one request for the file is late, further ones fail at once. */
static int fetch_bytes(struct inflight *f, struct waiter *w)
{
	struct inflight **oldest = &f->node->inflight[NODE_BYTES];
	int rc = *oldest && inflight_is_late(*oldest) ? -EIO
		 : f->node->is_detached               ? -ESTALE
						      : inflight_start(f, w);

	if (rc < 0) {
		inflight_unref(f);
		return rc;
	}
	if (!*oldest)
		*oldest = f; /* until it is done */
	return inflight_park(f, w);
}

/* Hands over the bytes of a reply, which only one waiter has. */
static int take_bytes(struct inflight *reply, struct cache_data *ret)
{
	if (reply->rc < 0)
		return reply->rc;
	ret->bytes = reply->request.out;
	reply->request.out = (struct buf){ 0 }; /* handed over */
	ret->at[0] = ret->bytes.data;
	ret->len[0] = reply->request.read.len;
	if (reply->request.read.is_hole)
		memset(ret->bytes.data, 0, ret->len[0]);
	ret->count = 1;
	return 0;
}

static int read_uncached(struct cache *c, struct waiter *w, struct node *n, const struct stat *attr,
			 uint64_t offset, size_t len)
{
	struct inflight *f;
	int rc = -ENOMEM;

	node_lock(c->nodes, n);
	f = inflight_new(&c->env, n, STORAGE_READ);
	if (f) {
		f->request.attr = *attr;
		f->request.offset = offset;
		f->request.len = len;
		f->request.into = buf_reserve(&f->request.out, len);
	}
	if (f && f->request.into)
		rc = fetch_bytes(f, w);
	else if (f)
		inflight_unref(f);
	node_unlock(c->nodes, n);
	return rc;
}

/* Under the lock of n: the request that reads the part again, with a reference. NULL: *ret_rc. */
static struct inflight *start_recheck(struct cache *c, const struct waiter *w, struct node *n,
				      struct recheck_part *part, int *ret_rc)
{
	struct inflight *f =
		part->reader ? inflight_ref(part->reader) : inflight_new(&c->env, n, STORAGE_READ);

	*ret_rc = -ENOMEM;
	if (!f || part->reader)
		return f;
	f->is_recheck = f->request.is_fresh = true;
	f->request.attr = n->attr;
	f->request.offset = part->offset;
	f->request.len = part->len;
	f->request.into = pages_new(part->len);
	if (f->request.into)
		*ret_rc = inflight_start(f, w);
	if (*ret_rc < 0) {
		inflight_unref(f);
		return NULL;
	}
	part->reader = f;
	return f;
}

int cache_recheck(struct cache *c, struct waiter *w, struct node *n, int64_t now_ns)
{
	const struct inflight *last = inflight_last_reply(w);
	struct inflight *first = NULL;
	struct recheck_part *part;
	size_t i = 0;
	int rc = last && last->node == n && last->is_recheck && last->rc < 0 ? last->rc : 0;

	for (int started = 0; rc == 0 && started < RECHECKS; started++) {
		struct inflight *f;

		part = recheck_next(n->recheck, now_ns, &i);
		if (!part)
			break;
		f = start_recheck(c, w, n, part, &rc);
		if (f && !first)
			first = f;
		else if (f)
			inflight_unref(f);
		rc = f ? 0 : rc;
	}
	if (first && rc == 0)
		rc = inflight_park(first, w);
	else if (first)
		inflight_unref(first);
	return rc == CACHE_PARKED || rc == -ESTALE || rc == -EINTR || rc == -ENOTCONN ? rc : 0;
}

/* Was the last reply to w that the file is not the one that was looked up? */
static bool has_found_change(const struct waiter *w, const struct node *n)
{
	const struct inflight *last = inflight_last_reply(w);

	return last && last->node == n && last->request.kind == STORAGE_READ && last->rc == -ESTALE;
}

/* The last reply has found a change. May the next one be of the version that is looked up? Not when
 * all replies of w found changes, unless the file grew meanwhile, for CATCH_UP_NS. */
static bool may_catch_up(const struct waiter *w)
{
	const struct inflight *oldest;

	if (w->count < WAITER_REPLIES)
		return true;
	if (clock_mono_ns() - w->start_ns > CATCH_UP_NS)
		return false;
	oldest = (const struct inflight *)w->replies[w->count % WAITER_REPLIES];
	return inflight_last_reply(w)->request.attr.st_size > oldest->request.attr.st_size;
}

/* Of a changed file until the kernel knows that, and of one that is rewritten all the time:
 * -ESTALE. */
static int get_attr_to_read(struct cache *c, struct waiter *w, struct node *n, struct stat *ret)
{
	int64_t ttl_ns;
	int rc;

	node_lock(c->nodes, n);
	if (n->is_stale && !cache_keeps_version(n))
		rc = -ESTALE;
	else if (has_found_change(w, n) && !n->is_detached)
		rc = may_catch_up(w) ? cache_fetch_attr(c, w, n) : -ESTALE;
	else
		rc = cache_get_attr(c, w, n, ret, &ttl_ns);
	if (rc == 0 && n->recheck && !n->is_detached)
		rc = cache_recheck(c, w, n, clock_mono_ns());
	node_unlock(c->nodes, n);
	return rc == -ENOENT ? -ESTALE : rc;
}

static int read_data(struct cache *c, struct waiter *w, struct node *n, uint64_t offset, size_t len,
		     struct cache_data *ret)
{
	struct inflight *reply = inflight_reply(w, n, STORAGE_READ);
	struct stat attr;
	int rc = get_attr_to_read(c, w, n, &attr);

	*ret = (struct cache_data){ 0 };
	if (rc)
		return rc;
	if (reply && (reply->rc != -ESTALE || cache_is_same(&reply->request.attr, &attr)))
		return take_bytes(reply, ret);
	if (!S_ISREG(attr.st_mode))
		return S_ISDIR(attr.st_mode) ? -EISDIR : -EINVAL;
	if (offset >= (uint64_t)attr.st_size || !len)
		return 0;
	if (len > 2 * CHUNK_BYTES)
		len = 2 * CHUNK_BYTES;
	if (len > (uint64_t)attr.st_size - offset)
		len = (size_t)((uint64_t)attr.st_size - offset);
	if (c->opts.max_file_bytes && (uint64_t)attr.st_size >= c->opts.max_file_bytes)
		return read_uncached(c, w, n, &attr, offset, len);
	rc = read_cached(c, w, n, &attr, offset, len, ret);
	if (rc == -ENOMEM) {
		make_room(c, &attr, offset, len);
		rc = read_cached(c, w, n, &attr, offset, len, ret);
	}
	return rc == -ENOMEM ? read_uncached(c, w, n, &attr, offset, len) : rc;
}

int cache_read(struct cache *c, struct waiter *w, struct node *n, uint64_t offset, size_t len,
	       struct cache_data *ret)
{
	int rc = read_data(c, w, n, offset, len, ret);

	if (rc == 0 && !atomic_load_explicit(&n->is_read, memory_order_relaxed))
		atomic_store_explicit(&n->is_read, true, memory_order_relaxed);
	return rc;
}

void cache_drop_version(struct cache *c, struct node *n)
{
	node_lock(c->nodes, n);
	chunks_invalidate(n);
	node_unlock(c->nodes, n);
}

void cache_data_fini(struct cache_data *data)
{
	for (size_t i = 0; i < data->count; i++)
		if (data->chunks[i])
			chunk_end_read(data->chunks[i]);
	buf_fini(&data->bytes);
	*data = (struct cache_data){ 0 };
}
