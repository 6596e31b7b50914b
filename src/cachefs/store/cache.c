/* SPDX-License-Identifier: MIT */
#include "cachefs/store/cache.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/store/flight.h"

#define STOP_NS NS_PER_S           /* for what is still asked of storage at the end */
#define SLOW_NS (NS_PER_S / 10000) /* of a lookup: more than storage in memory takes */
#define MISSES 3                   /* lookups in vain, until a folder's names are asked for */
#define GUESS_ENTRIES 100000       /* but not of a folder that has more */
#define REPLACED_TRIES 3           /* of a lookup, while somebody replaces the file */
#define AHEAD_CHUNKS 4             /* of a file that is read in order */

int cache_open(struct storage storage, const struct cache_opts *o, struct cache **ret,
	       struct err *e)
{
	struct cache *c = calloc(1, sizeof *c);

	if (!c)
		return err_nomem(e);
	c->storage = storage;
	c->opts = *o;
	pthread_mutex_init(&c->keep_lock, NULL);
	pthread_cond_init(&c->keep_wake, NULL);
	c->nodes = nodes_new(&c->usage);
	c->chunks = c->nodes ? chunks_new(c->nodes, &c->usage, o->budget_bytes) : NULL;
	if (c->chunks && o->passes)
		chunks_keep_whole(c->chunks, o->budget_bytes);
	c->pool = c->chunks ? pool_new(o->max_threads) : NULL;
	if (!c->pool) {
		chunks_free(c->chunks);
		nodes_free(c->nodes);
		free(c);
		return err_nomem(e);
	}
	*ret = c;
	return 0;
}

int cache_keep(struct cache *c, struct cache_kernel kernel, struct err *e)
{
	int rc;

	c->kernel = kernel;
	rc = pthread_create(&c->keeper, NULL, cache_keeper, c);
	if (rc)
		return err_set(e, -rc, "cannot start a thread: %s", strerror(rc));
	c->has_keeper = true;
	return 0;
}

void cache_stop_keeping(struct cache *c)
{
	c->is_ending = true;
	if (!c->has_keeper)
		return;
	pthread_mutex_lock(&c->keep_lock);
	pthread_cond_signal(&c->keep_wake);
	pthread_mutex_unlock(&c->keep_lock);
	pthread_join(c->keeper, NULL);
	c->has_keeper = false;
}

bool cache_close(struct cache *c)
{
	c->is_ending = true;
	if (!pool_stop(c->pool, STOP_NS))
		return false;
	cache_stop_keeping(c);
	chunks_free(c->chunks);
	nodes_free(c->nodes);
	for (size_t i = 0; i < CACHE_XATTRS; i++)
		free(c->xattrs[i]);
	pthread_mutex_destroy(&c->keep_lock);
	pthread_cond_destroy(&c->keep_wake);
	free(c);
	return true;
}

struct node *cache_root(struct cache *c)
{
	return nodes_root(c->nodes);
}

struct usage *cache_usage(struct cache *c)
{
	return &c->usage;
}

struct cache_counts *cache_counts(struct cache *c)
{
	return &c->counts;
}

/* Under the lock of n: is what is kept of it good? An absent one that has run out is not. */
static bool is_known(struct cache *c, struct node *n, bool *ret_was_absent)
{
	*ret_was_absent = n->state == NODE_ABSENT;
	if (n->state == NODE_UNKNOWN)
		return false;
	if (n->expires_ns == CACHE_FOR_EVER || clock_mono_ns() < n->expires_ns)
		return true;
	if (n->state == NODE_ABSENT)
		cache_count_absent(c, n, ABSENT_EXPIRE);
	n->state = NODE_UNKNOWN;
	return false;
}

static int64_t time_left(int64_t until_ns)
{
	int64_t now = clock_mono_ns();

	if (until_ns == CACHE_FOR_EVER)
		return CACHE_FOR_EVER;
	return until_ns > now ? until_ns - now : 0;
}

/* Under the lock of n. */
static int get_attr(struct cache *c, struct node *n, struct stat *ret, int64_t *ret_absent_ns)
{
	bool was_absent;
	struct flight *f;
	int rc = 0;

	*ret_absent_ns = 0;
	if (n->is_gone)
		return -ESTALE;
	if (is_known(c, n, &was_absent)) {
		if (n->state == NODE_ABSENT) {
			cache_count_absent(c, n, ABSENT_SERVE);
			*ret_absent_ns = time_left(n->expires_ns);
			return -ENOENT;
		}
		*ret = n->attr;
		return 0;
	}
	f = flight_join(c, n, NODE_ATTR, 0, true, &rc);
	if (!f)
		return rc;
	f->was_absent |= was_absent;
	rc = flight_wait(f);
	if (rc == 0)
		*ret = f->attr;
	if (rc == -ENOENT)
		*ret_absent_ns = c->opts.absent_ns;
	flight_unref(f);
	return rc;
}

/* Under the lock of the folder: its names are known, and name is not one of them. */
static bool lacks(struct node *folder, const char *name, int64_t *ret_absent_ns)
{
	if (!folder->listing || dirlist_has(folder->listing, name))
		return false;
	*ret_absent_ns = time_left(folder->listing_expires_ns);
	return *ret_absent_ns > 0;
}

/* A name that was not known is absent. Where there are several, somebody looks through a search
 * path, and will be back: the folder's names answer from then on. Who looks for the same one again
 * and again awaits it. */
static void note_miss(struct cache *c, struct node *folder)
{
	struct flight *f;
	int rc;

	node_lock(c->nodes, folder);
	if (!folder->listing && !folder->is_unlistable && ++folder->misses >= MISSES) {
		folder->misses = 0;
		f = flight_join(c, folder, NODE_LIST, GUESS_ENTRIES, false, &rc);
		if (f)
			flight_unref(f);
	}
	node_unlock(c->nodes, folder);
}

/* -ESTALE: the name is another file's now, which the next call finds. */
static int look_up(struct cache *c, struct node *parent, const char *name, struct node **ret,
		   struct stat *ret_attr, int64_t *ret_absent_ns)
{
	struct node *n = nodes_get(c->nodes, parent, name);
	int64_t begin_ns = clock_mono_ns();
	bool is_new;
	int rc;

	if (!n)
		return -ENOMEM;
	node_lock(c->nodes, n);
	is_new = n->state == NODE_UNKNOWN && !n->flights[NODE_ATTR];
	rc = get_attr(c, n, ret_attr, ret_absent_ns);
	node_unlock(c->nodes, n);
	if (clock_mono_ns() - begin_ns >= SLOW_NS)
		cache_names_ahead(c, parent, name);
	if (rc == -ENOENT && is_new)
		note_miss(c, parent);
	if (rc < 0)
		node_unref(n, 1);
	else
		*ret = n;
	return rc;
}

int cache_lookup(struct cache *c, struct node *parent, const char *name, struct node **ret,
		 struct stat *ret_attr, int64_t *ret_absent_ns)
{
	bool lacking;
	int rc, tries = 0;

	*ret_absent_ns = 0;
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	node_lock(c->nodes, parent);
	lacking = lacks(parent, name, ret_absent_ns);
	node_unlock(c->nodes, parent);
	if (lacking)
		return -ENOENT;
	do
		rc = look_up(c, parent, name, ret, ret_attr, ret_absent_ns);
	while (rc == -ESTALE && tries++ < REPLACED_TRIES);
	cache_check_budget(c);
	return rc;
}

int cache_attr(struct cache *c, struct node *n, struct stat *ret)
{
	int64_t absent_ns;
	int rc;

	node_lock(c->nodes, n);
	rc = get_attr(c, n, ret, &absent_ns);
	node_unlock(c->nodes, n);
	return rc;
}

/* Under the lock of n. A guess that was under way gives up at its limit: then we ask. */
static int get_listing(struct cache *c, struct node *n, struct dirlist **ret)
{
	int rc = -E2BIG;

	if (n->listing && time_left(n->listing_expires_ns) > 0) {
		*ret = dirlist_ref(n->listing);
		return 0;
	}
	for (int tries = 0; tries < 2 && rc == -E2BIG; tries++) {
		struct flight *f = flight_join(c, n, NODE_LIST, SIZE_MAX, true, &rc);

		if (!f)
			return rc;
		rc = flight_wait(f);
		if (rc == 0)
			*ret = dirlist_ref(f->listing);
		flight_unref(f);
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
	struct flight *f;
	int rc = 0;

	node_lock(c->nodes, n);
	if (n->link) {
		buf_put_str(ret, n->link);
	} else {
		f = flight_join(c, n, NODE_LINK, 0, true, &rc);
		if (f) {
			rc = flight_wait(f);
			if (rc == 0)
				buf_put(ret, f->out.data, f->out.len);
			flight_unref(f);
		}
	}
	node_unlock(c->nodes, n);
	return rc < 0 ? rc : buf_error(ret);
}

/*
 * Under the lock of n: the chunk, filled or being filled; the caller reads it. *ret_flight: its
 * flight, with a reference; NULL: it is filled.
 */
static int get_chunk(struct cache *c, struct node *n, const struct stat *attr, uint64_t index,
		     bool urgent, struct chunk **ret, struct flight **ret_flight)
{
	struct chunk *chunk = chunks_find(n, index);
	struct flight *f;

	if (chunk) {
		chunks_read(chunk);
		if (chunk->flight)
			chunk->flight->refs++;
		*ret_flight = chunk->flight;
		*ret = chunk;
		return 0;
	}
	f = flight_new(c, n, FLIGHT_CHUNK);
	if (!f)
		return -ENOMEM;
	chunk = chunks_add(c->chunks, n, index, (uint64_t)attr->st_size);
	if (!chunk) {
		flight_unref(f);
		return -ENOMEM;
	}
	f->chunk = chunk;
	f->attr = *attr;
	chunks_read(chunk); /* by the flight */
	chunk->flight = f;
	if (flight_start(f, urgent) < 0) {
		chunk->flight = NULL;
		chunks_forget_one(chunk);
		chunk_done(chunk);
		chunk_done(chunk);
		flight_unref(f);
		return -EAGAIN;
	}
	*ret = chunk;
	*ret_flight = f;
	return 0;
}

/* Under the lock of n: the next chunks of a file that is read from its beginning to its end. */
static void read_ahead(struct cache *c, struct node *n, const struct stat *attr, uint64_t last)
{
	uint64_t end = ((uint64_t)attr->st_size + CHUNK_BYTES - 1) / CHUNK_BYTES;
	bool in_order = last == n->next_chunk || last + 1 == n->next_chunk;

	n->next_chunk = last + 1;
	if (!in_order || c->opts.budget_bytes < 4 * AHEAD_CHUNKS * CHUNK_BYTES)
		return;
	for (uint64_t i = last + 1; i < end && i <= last + AHEAD_CHUNKS; i++) {
		struct flight *f = NULL;
		struct chunk *chunk;

		if (chunks_find(n, i))
			continue;
		if (get_chunk(c, n, attr, i, false, &chunk, &f) < 0)
			return;
		chunk_done(chunk);
		if (f)
			flight_unref(f);
	}
}

/* Under the lock of n. Chunks are asked for together, then waited for. */
static int get_chunks(struct cache *c, struct node *n, const struct stat *attr, uint64_t offset,
		      size_t len, struct cache_data *data)
{
	uint64_t first = offset / CHUNK_BYTES, last = (offset + len - 1) / CHUNK_BYTES;
	struct flight *flights[CACHE_SPANS] = { 0 };
	int rc = 0;

	for (uint64_t i = first; i <= last && rc == 0; i++) {
		rc = get_chunk(c, n, attr, i, true, &data->chunks[data->count],
			       &flights[data->count]);
		data->count += rc == 0;
	}
	if (rc == 0)
		read_ahead(c, n, attr, last);
	for (size_t i = 0; i < data->count; i++) {
		int one = flights[i] ? flight_wait(flights[i]) : 0;

		if (flights[i])
			flight_unref(flights[i]);
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

static int read_kept(struct cache *c, struct node *n, const struct stat *attr, uint64_t offset,
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

/* Takes data away, for these bytes of a file. */
static void make_room(struct cache *c, const struct stat *attr, uint64_t offset, size_t len)
{
	uint64_t begin = offset / CHUNK_BYTES * CHUNK_BYTES, end = offset + len + CHUNK_BYTES;
	uint64_t room = (end < (uint64_t)attr->st_size ? end : (uint64_t)attr->st_size) - begin;

	room += CACHE_SPANS * CHUNK_EXTRA;
	if (room < c->opts.budget_bytes)
		chunks_shrink(c->chunks, c->opts.budget_bytes - room);
}

/* Under the lock of n: the answer is the caller's flight. Only for what is not kept. */
static int ask(struct flight *f)
{
	int rc = flight_start(f, true);

	return rc < 0 ? rc : flight_wait(f);
}

/* The same of data: while storage is late with some of a file, nobody waits for more of it. */
static int ask_bytes(struct flight *f)
{
	struct flight **oldest = &f->node->flights[NODE_BYTES];
	int rc;

	if (*oldest && flight_is_late(*oldest)) {
		atomic_fetch_add(&f->cache->counts.timeouts, 1);
		return -ETIMEDOUT;
	}
	rc = flight_start(f, true);
	if (rc < 0)
		return rc;
	if (!*oldest)
		*oldest = f;
	return flight_wait(f);
}

static int read_past(struct cache *c, struct node *n, const struct stat *attr, uint64_t offset,
		     size_t len, struct cache_data *data)
{
	struct flight *f;
	int rc = -ENOMEM;

	node_lock(c->nodes, n);
	f = flight_new(c, n, FLIGHT_BYTES);
	if (f) {
		f->attr = *attr;
		f->offset = offset;
		f->len = len;
		rc = ask_bytes(f);
		if (rc == 0) {
			data->bytes = f->out;
			f->out = (struct buf){ 0 }; /* handed over */
			data->at[0] = data->bytes.data;
			data->len[0] = data->bytes.len;
			data->count = 1;
		}
		flight_unref(f);
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

/* While the kernel has another size than we, it would fill up with zeros what we give it, or
 * cut it: also when it is this read that finds out. */
static int get_attr_to_read(struct cache *c, struct node *n, struct stat *ret)
{
	struct stat before;
	int64_t absent_ns;
	int rc;

	node_lock(c->nodes, n);
	before = n->attr;
	rc = n->is_stale ? -ESTALE : get_attr(c, n, ret, &absent_ns);
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
		return read_past(c, n, &attr, offset, len, ret);
	rc = read_kept(c, n, &attr, offset, len, ret);
	if (rc == -ENOMEM) {
		make_room(c, &attr, offset, len);
		rc = read_kept(c, n, &attr, offset, len, ret);
	}
	return rc == -ENOMEM ? read_past(c, n, &attr, offset, len, ret) : rc;
}

void cache_data_fini(struct cache_data *data)
{
	for (size_t i = 0; i < data->count; i++)
		if (data->chunks[i])
			chunk_done(data->chunks[i]);
	buf_fini(&data->bytes);
	*data = (struct cache_data){ 0 };
}

int cache_seek(struct cache *c, struct node *n, uint64_t offset, int whence, uint64_t *ret)
{
	struct flight *f;
	int rc = -ENOMEM;

	node_lock(c->nodes, n);
	f = flight_new(c, n, FLIGHT_SEEK);
	if (f) {
		f->offset = offset;
		f->whence = whence;
		rc = ask(f);
		if (rc == 0)
			*ret = f->number;
		flight_unref(f);
	}
	node_unlock(c->nodes, n);
	return rc;
}

int cache_stat_fs(struct cache *c, struct node *n, struct statvfs *ret)
{
	struct flight *f;
	int rc = -ENOMEM;

	node_lock(c->nodes, n);
	f = flight_new(c, n, FLIGHT_STAT_FS);
	if (f) {
		rc = ask(f);
		if (rc == 0)
			*ret = f->fs;
		flight_unref(f);
	}
	node_unlock(c->nodes, n);
	return rc;
}
