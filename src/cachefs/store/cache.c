/* SPDX-License-Identifier: MIT */
#include "cachefs/store/cache.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "cachefs/store/cache_internal.h"

#define STOP_NS NS_PER_S           /* how long cache_close waits for storage */
#define SLOW_NS (NS_PER_S / 10000) /* a slow lookup: longer than storage in memory takes */
#define MISSES 3                   /* failed lookups in a folder, after which it is listed */
#define GUESS_ENTRIES 100000       /* the most names of such a listing */
#define REPLACED_TRIES 3           /* lookups of a file that is being replaced */
#define AHEAD_CHUNKS 4             /* chunks of read-ahead in a sequential read */

/* The rest of the budget can be evicted when it must. */
#define PASSTHROUGH_SHARE(budget) ((budget) / 4 * 3)

static void on_completed(void *cache)
{
	cache_check_budget(cache);
}

static void init_requests(struct cache *c, struct storage storage)
{
	c->env = (struct inflight_env){
		.storage = storage,
		.counts = &c->counts.storage,
		.nodes = c->nodes,
		.pool = pool_new(c->opts.max_threads),
		.timeout_ns = c->opts.timeout_ns,
		.context = c,
		.complete = cache_complete,
		.complete_name = cache_complete_name,
		.completed = on_completed,
	};
	c->passthroughs = (struct passthroughs){
		.nodes = c->nodes,
		.pool = c->env.pool,
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
	pthread_mutex_init(&c->evictor_lock, NULL);
	compat_cond_init(&c->evictor_wake);
	c->nodes = nodes_new(&c->usage, passthrough_release);
	c->chunks = c->nodes ? chunks_new(c->nodes, &c->usage, o->budget_bytes) : NULL;
	if (c->chunks && o->passthrough)
		chunks_enable_backing(c->chunks, o->budget_bytes);
	if (c->chunks)
		init_requests(c, storage);
	if (!c->env.pool) {
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
	c->env.hooks = kernel.hooks;
	c->passthroughs.fuse_fd = kernel.fuse_fd;
	rc = pthread_create(&c->evictor, NULL, cache_evictor, c);
	if (rc)
		return err_set(e, -rc, "cannot start a thread: %s", strerror(rc));
	c->has_evictor = true;
	return 0;
}

void cache_stop_evictor(struct cache *c)
{
	c->is_ending = true;
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
	if (!pool_stop(c->env.pool, STOP_NS))
		return false;
	cache_stop_evictor(c);
	chunks_free(c->chunks);
	nodes_free(c->nodes);
	for (size_t i = 0; i < CACHE_XATTRS; i++)
		free(c->xattrs[i]);
	pthread_mutex_destroy(&c->evictor_lock);
	pthread_cond_destroy(&c->evictor_wake);
	free(c);
	return true;
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

static int64_t time_left(int64_t until_ns)
{
	int64_t now = clock_mono_ns();

	if (until_ns == CACHE_FOREVER)
		return CACHE_FOREVER;
	return until_ns > now ? until_ns - now : 0;
}

/* Under the lock of n. */
static int get_attr(struct cache *c, struct node *n, struct stat *ret, int64_t *ret_negative_ttl_ns)
{
	bool was_negative;
	struct inflight *f;
	int rc = 0;

	*ret_negative_ttl_ns = 0;
	if (n->is_detached)
		return -ESTALE;
	if (is_known(c, n, &was_negative)) {
		if (n->state == NODE_NEGATIVE) {
			cache_count_negative(c, n, NEGATIVE_SERVE);
			*ret_negative_ttl_ns = time_left(n->expires_ns);
			return -ENOENT;
		}
		*ret = n->attr;
		return 0;
	}
	f = inflight_join(&c->env, n, NODE_ATTR, 0, true, &rc);
	if (!f)
		return rc;
	f->was_negative |= was_negative;
	rc = inflight_wait(f);
	if (rc == 0)
		*ret = f->attr;
	if (rc == -ENOENT)
		*ret_negative_ttl_ns = c->opts.negative_ttl_ns;
	inflight_unref(f);
	return rc;
}

/* Under the lock of the folder: does its listing prove that there is no such name? */
static bool is_unlisted(struct node *folder, const char *name, int64_t *ret_negative_ttl_ns)
{
	if (!folder->listing || dirlist_has(folder->listing, name))
		return false;
	*ret_negative_ttl_ns = time_left(folder->listing_expires_ns);
	return *ret_negative_ttl_ns > 0;
}

/* Counts new names that do not exist. Several of them mean that a process searches a path, and
 * will search the folder again: its listing then answers. A process that polls for one name is not
 * counted, because it expects that name to appear. */
static void note_miss(struct cache *c, struct node *folder)
{
	struct inflight *f;
	int rc;

	node_lock(c->nodes, folder);
	if (!folder->listing && !folder->is_unlistable && ++folder->misses >= MISSES) {
		folder->misses = 0;
		f = inflight_join(&c->env, folder, NODE_LIST, GUESS_ENTRIES, false, &rc);
		if (f)
			inflight_unref(f);
	}
	node_unlock(c->nodes, folder);
}

/* -ESTALE: another file has the name, and the next call finds it. */
static int look_up(struct cache *c, struct node *parent, const char *name, struct node **ret,
		   struct stat *ret_attr, int64_t *ret_negative_ttl_ns)
{
	struct node *n = nodes_get(c->nodes, parent, name);
	int64_t begin_ns = clock_mono_ns();
	bool is_new;
	int rc;

	if (!n)
		return -ENOMEM;
	node_lock(c->nodes, n);
	is_new = n->state == NODE_UNKNOWN && !n->inflight[NODE_ATTR];
	rc = get_attr(c, n, ret_attr, ret_negative_ttl_ns);
	node_unlock(c->nodes, n);
	if (clock_mono_ns() - begin_ns >= SLOW_NS)
		cache_lookup_ahead(c, parent, name);
	if (rc == -ENOENT && is_new)
		note_miss(c, parent);
	if (rc < 0)
		node_unref(n, 1);
	else
		*ret = n;
	return rc;
}

int cache_lookup(struct cache *c, struct node *parent, const char *name, struct node **ret,
		 struct stat *ret_attr, int64_t *ret_negative_ttl_ns)
{
	bool is_absent;
	int rc, tries = 0;

	*ret_negative_ttl_ns = 0;
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	node_lock(c->nodes, parent);
	is_absent = is_unlisted(parent, name, ret_negative_ttl_ns);
	node_unlock(c->nodes, parent);
	if (is_absent)
		return -ENOENT;
	do
		rc = look_up(c, parent, name, ret, ret_attr, ret_negative_ttl_ns);
	while (rc == -ESTALE && tries++ < REPLACED_TRIES);
	cache_check_budget(c);
	return rc;
}

int cache_attr(struct cache *c, struct node *n, struct stat *ret)
{
	int64_t negative_ttl_ns;
	int rc;

	node_lock(c->nodes, n);
	rc = get_attr(c, n, ret, &negative_ttl_ns);
	node_unlock(c->nodes, n);
	return rc;
}

/* Under the lock of n. A listing that note_miss requested fails at its limit: then try again. */
static int get_listing(struct cache *c, struct node *n, struct dirlist **ret)
{
	int rc = -E2BIG;

	if (n->listing && time_left(n->listing_expires_ns) > 0) {
		*ret = dirlist_ref(n->listing);
		return 0;
	}
	for (int tries = 0; tries < 2 && rc == -E2BIG; tries++) {
		struct inflight *f = inflight_join(&c->env, n, NODE_LIST, SIZE_MAX, true, &rc);

		if (!f)
			return rc;
		rc = inflight_wait(f);
		if (rc == 0)
			*ret = dirlist_ref(f->listing);
		inflight_unref(f);
	}
	return rc;
}

int cache_list(struct cache *c, struct node *n, size_t from, struct dirlist **ret)
{
	int rc;

	node_lock(c->nodes, n);
	rc = get_listing(c, n, ret);
	if (rc == 0)
		n->listing_read_ns =
			from < dirlist_count(*ret) ? clock_mono_ns() + LISTING_READ_NS : 0;
	node_unlock(c->nodes, n);
	return rc;
}

int cache_link(struct cache *c, struct node *n, struct buf *ret)
{
	struct inflight *f;
	int rc = 0;

	node_lock(c->nodes, n);
	if (n->link) {
		buf_put_str(ret, n->link);
	} else {
		f = inflight_join(&c->env, n, NODE_LINK, 0, true, &rc);
		if (f) {
			rc = inflight_wait(f);
			if (rc == 0)
				buf_put(ret, f->out.data, f->out.len);
			inflight_unref(f);
		}
	}
	node_unlock(c->nodes, n);
	return rc < 0 ? rc : buf_error(ret);
}

/*
 * Under the lock of n: the chunk, filled or being filled, with the caller as a reader.
 * *ret_inflight: the request that fills it, with a reference; NULL: it is filled.
 */
static int get_chunk(struct cache *c, struct node *n, const struct stat *attr, uint64_t index,
		     bool is_awaited, struct chunk **ret, struct inflight **ret_inflight)
{
	struct chunk *chunk = chunks_find(n, index);
	struct inflight *f;

	if (chunk) {
		chunk_begin_read(chunk);
		if (chunk->inflight)
			chunk->inflight->refs++;
		*ret_inflight = chunk->inflight;
		*ret = chunk;
		return 0;
	}
	f = inflight_new(&c->env, n, INFLIGHT_CHUNK);
	if (!f)
		return -ENOMEM;
	chunk = chunks_add(c->chunks, n, index, (uint64_t)attr->st_size);
	if (!chunk) {
		inflight_unref(f);
		return -ENOMEM;
	}
	f->chunk = chunk;
	f->attr = *attr;
	chunk_begin_read(chunk); /* for the request */
	chunk->inflight = f;
	if (inflight_start(f, is_awaited) < 0) {
		chunk->inflight = NULL;
		chunk_invalidate(chunk);
		chunk_end_read(chunk);
		chunk_end_read(chunk);
		inflight_unref(f);
		return -EAGAIN;
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
		if (get_chunk(c, n, attr, i, false, &chunk, &f) < 0)
			return;
		chunk_end_read(chunk);
		if (f)
			inflight_unref(f);
	}
}

/* Under the lock of n. All chunks are requested before it waits for any. */
static int get_chunks(struct cache *c, struct node *n, const struct stat *attr, uint64_t offset,
		      size_t len, struct cache_data *data)
{
	uint64_t first = offset / CHUNK_BYTES, last = (offset + len - 1) / CHUNK_BYTES;
	struct inflight *inflight[CACHE_SPANS] = { 0 };
	int rc = 0;

	for (uint64_t i = first; i <= last && rc == 0; i++) {
		rc = get_chunk(c, n, attr, i, true, &data->chunks[data->count],
			       &inflight[data->count]);
		data->count += rc == 0;
	}
	if (rc == 0)
		read_ahead(c, n, attr, last);
	for (size_t i = 0; i < data->count; i++) {
		int one = inflight[i] ? inflight_wait(inflight[i]) : 0;

		if (inflight[i])
			inflight_unref(inflight[i]);
		if (rc == 0)
			rc = one;
	}
	return rc;
}

static void cut_spans(uint64_t offset, size_t len, struct cache_data *data)
{
	for (size_t i = 0; i < data->count; i++) {
		size_t skip = (size_t)(offset % CHUNK_BYTES), n = data->chunks[i]->len - skip;

		if (n > len)
			n = len;
		data->at[i] = data->chunks[i]->bytes + skip;
		data->len[i] = n;
		offset += n;
		len -= n;
	}
}

static int read_cached(struct cache *c, struct node *n, const struct stat *attr, uint64_t offset,
		       size_t len, struct cache_data *ret)
{
	int rc;

	node_lock(c->nodes, n);
	rc = get_chunks(c, n, attr, offset, len, ret);
	node_unlock(c->nodes, n);
	if (rc < 0)
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

/* Under the lock of n: for replies that are not cached. */
static int fetch(struct inflight *f)
{
	int rc = inflight_start(f, true);

	return rc < 0 ? rc : inflight_wait(f);
}

/* The same for data. While one request for the file is late, further ones fail at once. */
static int fetch_bytes(struct inflight *f)
{
	struct inflight **oldest = &f->node->inflight[NODE_BYTES];
	int rc;

	if (*oldest && inflight_is_late(*oldest)) {
		atomic_fetch_add(&f->env->counts->timeouts, 1);
		return -ETIMEDOUT;
	}
	rc = inflight_start(f, true);
	if (rc < 0)
		return rc;
	if (!*oldest)
		*oldest = f;
	return inflight_wait(f);
}

static int read_uncached(struct cache *c, struct node *n, const struct stat *attr, uint64_t offset,
			 size_t len, struct cache_data *data)
{
	struct inflight *f;
	int rc = -ENOMEM;

	node_lock(c->nodes, n);
	f = inflight_new(&c->env, n, INFLIGHT_BYTES);
	if (f) {
		f->attr = *attr;
		f->offset = offset;
		f->len = len;
		rc = fetch_bytes(f);
		if (rc == 0) {
			data->bytes = f->out;
			f->out = (struct buf){ 0 }; /* handed over */
			data->at[0] = data->bytes.data;
			data->len[0] = data->bytes.len;
			data->count = 1;
		}
		inflight_unref(f);
	}
	node_unlock(c->nodes, n);
	return rc;
}

bool cache_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

/* While the kernel has another file size than the cache, it would pad or cut the data it gets. So
 * the read fails, also when it is the one that detects the change. */
static int get_attr_to_read(struct cache *c, struct node *n, struct stat *ret)
{
	struct stat before;
	int64_t negative_ttl_ns;
	int rc;

	node_lock(c->nodes, n);
	before = n->attr;
	rc = n->is_stale ? -ESTALE : get_attr(c, n, ret, &negative_ttl_ns);
	if (rc == 0 && before.st_ino && !cache_is_same(&before, ret)) {
		cache_note_stale(c, n);
		rc = -ESTALE;
	}
	node_unlock(c->nodes, n);
	return rc == -ENOENT ? -ESTALE : rc;
}

int cache_read(struct cache *c, struct node *n, uint64_t offset, size_t len, struct cache_data *ret)
{
	struct stat attr;
	int rc = get_attr_to_read(c, n, &attr);

	*ret = (struct cache_data){ 0 };
	if (rc < 0)
		return rc;
	if (!S_ISREG(attr.st_mode))
		return S_ISDIR(attr.st_mode) ? -EISDIR : -EINVAL;
	if (offset >= (uint64_t)attr.st_size || !len)
		return 0;
	if (len > 2 * CHUNK_BYTES)
		len = 2 * CHUNK_BYTES;
	if (len > (uint64_t)attr.st_size - offset)
		len = (size_t)((uint64_t)attr.st_size - offset);
	if (c->opts.max_file_bytes && (uint64_t)attr.st_size >= c->opts.max_file_bytes)
		return read_uncached(c, n, &attr, offset, len, ret);
	rc = read_cached(c, n, &attr, offset, len, ret);
	if (rc == -ENOMEM) {
		make_room(c, &attr, offset, len);
		rc = read_cached(c, n, &attr, offset, len, ret);
	}
	return rc == -ENOMEM ? read_uncached(c, n, &attr, offset, len, ret) : rc;
}

void cache_data_fini(struct cache_data *data)
{
	for (size_t i = 0; i < data->count; i++)
		if (data->chunks[i])
			chunk_end_read(data->chunks[i]);
	buf_fini(&data->bytes);
	*data = (struct cache_data){ 0 };
}

int cache_seek(struct cache *c, struct node *n, uint64_t offset, int whence, uint64_t *ret)
{
	struct inflight *f;
	int rc = -ENOMEM;

	node_lock(c->nodes, n);
	f = inflight_new(&c->env, n, INFLIGHT_SEEK);
	if (f) {
		f->offset = offset;
		f->whence = whence;
		rc = fetch(f);
		if (rc == 0)
			*ret = f->number;
		inflight_unref(f);
	}
	node_unlock(c->nodes, n);
	return rc;
}

int cache_stat_fs(struct cache *c, struct node *n, struct statvfs *ret)
{
	struct inflight *f;
	int rc = -ENOMEM;

	node_lock(c->nodes, n);
	f = inflight_new(&c->env, n, INFLIGHT_STAT_FS);
	if (f) {
		rc = fetch(f);
		if (rc == 0)
			*ret = f->fs;
		inflight_unref(f);
	}
	node_unlock(c->nodes, n);
	return rc;
}
