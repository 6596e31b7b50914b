/* SPDX-License-Identifier: MIT */
#include "cachefs/store/flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define LOOK_UP_NS (NS_PER_S / 20) /* who waits looks so often whether it still should */

struct flight *flight_new(struct cache *c, struct node *n, enum flight_kind kind)
{
	struct flight *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->cache = c;
	f->node = node_ref(n);
	f->kind = kind;
	f->refs = 1;
	return f;
}

void flight_unref(struct flight *f)
{
	if (--f->refs)
		return;
	node_unref(f->node, 1);
	dirlist_unref(f->listing);
	free(f->name);
	buf_fini(&f->out);
	free(f);
}

static int read_into_chunk(struct flight *f, const char *path)
{
	const struct storage *s = &f->cache->storage;
	struct chunk *chunk = f->chunk;
	size_t len = 0;
	int rc = s->ops->read_chunk(s->self, path, &f->attr, chunk->index * CHUNK_BYTES,
				    chunk->bytes, chunk->cap, &len);

	chunk->len = len;
	return rc == 0 && len != chunk->cap ? -ESTALE : rc;
}

static int read_bytes(struct flight *f, const char *path)
{
	const struct storage *s = &f->cache->storage;
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

static int64_t after(int64_t duration_ns)
{
	return duration_ns == CACHE_FOR_EVER ? CACHE_FOR_EVER : clock_mono_ns() + duration_ns;
}

static void forget_contents(struct cache *c, struct node *n)
{
	chunks_forget(n);
	node_set_listing(c->nodes, n, NULL);
	node_set_link(c->nodes, n, NULL);
	n->is_unlistable = false;
	n->misses = 0;
}

/* Who has the old one open must not get bytes of the new one. */
static bool is_another(struct node *n, const struct stat *now)
{
	return atomic_load(&n->lookups) && n->attr.st_ino &&
	       (n->attr.st_ino != now->st_ino || n->attr.st_dev != now->st_dev ||
		(n->attr.st_mode & S_IFMT) != (now->st_mode & S_IFMT));
}

/* Under the lock of n: what storage said of it. Returns rc, or -ESTALE for another file. */
static int note_attr(struct cache *c, struct node *n, int rc, const struct stat *attr)
{
	if (rc == 0 && is_another(n, attr)) {
		forget_contents(c, n);
		n->is_gone = true;
		return -ESTALE;
	}
	if (rc == 0) {
		if (!cache_is_same(&n->attr, attr))
			forget_contents(c, n);
		n->attr = *attr;
		n->lacking_xattrs = n->refused_xattrs = 0;
		n->state = NODE_PRESENT;
		n->expires_ns = after(c->opts.lifetime_ns);
	} else if (rc == -ENOENT) {
		forget_contents(c, n);
		n->state = NODE_ABSENT;
		n->expires_ns = after(c->opts.absent_ns);
		cache_count_absent(c, n, ABSENT_STORE);
	} else {
		n->state = NODE_UNKNOWN;
	}
	return rc;
}

static void land_attr(struct flight *f)
{
	f->rc = note_attr(f->cache, f->node, f->rc, &f->attr);
	if (f->was_absent && f->rc != -ENOENT)
		cache_count_absent(f->cache, f->node, ABSENT_CLEAR);
}

/* Of one name of a folder that somebody lists. No lock is held. */
static void land_name(struct cache *c, struct node *folder, const char *name,
		      const struct stat *attr)
{
	struct node *n = nodes_get(c->nodes, folder, name);

	if (!n)
		return;
	node_lock(c->nodes, n);
	if (n->state == NODE_UNKNOWN && !n->flights[NODE_ATTR] && !n->is_gone &&
	    note_attr(c, n, 0, attr) == -ESTALE)
		cache_note_stale(c, n);
	node_unlock(c->nodes, n);
	node_unref(n, 1);
}

static int ask_names(struct flight *f, const char *path)
{
	const struct storage *s = &f->cache->storage;
	struct stat *attrs = calloc(f->len, sizeof *attrs);
	int *codes = calloc(f->len, sizeof *codes), rc = -ENOMEM;
	size_t count = 0;

	if (attrs && codes)
		rc = s->ops->lookup_names(s->self, path, f->listing, (size_t)f->offset, f->len,
					  attrs, codes, &count);
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (codes[i] == 0)
			land_name(f->cache, f->node,
				  dirlist_name(f->listing, (size_t)f->offset + i), &attrs[i]);
	free(attrs);
	free(codes);
	return rc;
}

static void land_list(struct flight *f)
{
	struct node *n = f->node;

	if (f->rc < 0) {
		n->is_unlistable = true;
		return;
	}
	node_set_listing(f->cache->nodes, n, dirlist_ref(f->listing));
	n->listing_expires_ns = after(f->cache->opts.lifetime_ns);
	n->listing_read_ns = after(LISTING_READ_NS);
}

static void land_link(struct flight *f)
{
	char *link;

	if (f->rc < 0)
		return;
	link = strndup(f->out.data ? f->out.data : "", f->out.len);
	if (link)
		node_set_link(f->cache->nodes, f->node, link);
}

static void land_chunk(struct flight *f)
{
	f->chunk->flight = NULL;
	if (f->rc < 0)
		chunks_forget_one(f->chunk);
	chunk_done(f->chunk);
}

/* Who has the file open may have read some of it already, and the kernel tries again what failed:
 * new data is for who opens it anew. */
static void note_other_data(struct flight *f)
{
	bool is_data = f->kind == FLIGHT_CHUNK || f->kind == FLIGHT_BYTES;

	if (is_data && f->cache->opts.lifetime_ns == CACHE_FOR_EVER)
		f->node->is_gone = true;
}

/* Under the node's lock. */
static void land(struct flight *f)
{
	if (f->kind < (int)NODE_PARTS && f->node->flights[f->kind] == f)
		f->node->flights[f->kind] = NULL;
	if (f->kind == FLIGHT_ATTR)
		land_attr(f);
	else if (f->kind == FLIGHT_LIST)
		land_list(f);
	else if (f->kind == FLIGHT_LINK)
		land_link(f);
	else if (f->kind == FLIGHT_CHUNK)
		land_chunk(f);
	if (f->rc == -ESTALE) {
		note_other_data(f);
		cache_note_stale(f->cache, f->node);
	}
	f->done = true;
}

static int ask(struct flight *f, const char *path)
{
	const struct storage *s = &f->cache->storage;

	switch (f->kind) {
	case FLIGHT_ATTR:
		return s->ops->lookup(s->self, path, &f->attr);
	case FLIGHT_LIST:
		return s->ops->list(s->self, path, f->max_entries, &f->listing);
	case FLIGHT_LINK:
		return s->ops->read_link(s->self, path, &f->out);
	case FLIGHT_NAMES:
		return ask_names(f, path);
	case FLIGHT_CHUNK:
		return read_into_chunk(f, path);
	case FLIGHT_BYTES:
		return read_bytes(f, path);
	case FLIGHT_XATTR:
		return s->ops->xattr(s->self, path, f->name, &f->out);
	case FLIGHT_SEEK:
		return s->ops->seek(s->self, path, f->offset, f->whence, &f->number);
	case FLIGHT_STAT_FS:
		return s->ops->stat_fs(s->self, path, &f->fs);
	}
	return -EINVAL;
}

/* Of a storage that works. */
static bool is_answer(const struct flight *f, int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -ESTALE || rc == -E2BIG ||
	       f->kind == FLIGHT_XATTR || f->kind == FLIGHT_SEEK;
}

/* what: NULL: nothing. */
static void tell_failure(const struct buf *path, const char *what)
{
	if (what)
		log_msg(LOG_DEBUG, "cache", "storage: /%s: %s", path->data ? path->data : "", what);
}

static void run(struct job *job)
{
	struct flight *f = (struct flight *)job;
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct cache *c = f->cache;
	struct node *n = node_ref(f->node);
	int rc = node_path(n, &path);
	const char *failure = NULL;

	atomic_fetch_add(&c->counts.storage_calls, 1);
	if (rc == 0)
		rc = ask(f, path.data);
	if (rc < 0 && !is_answer(f, rc)) {
		atomic_fetch_add(&c->counts.failures, 1);
		failure = strerror(-rc);
	}
	node_lock(c->nodes, n);
	if (flight_is_late(f))
		failure = "the answer came, too late";
	f->rc = rc;
	land(f);
	node_wake(c->nodes, n);
	flight_unref(f);
	node_unlock(c->nodes, n);
	node_unref(n, 1);
	tell_failure(&path, failure);
	cache_check_budget(c);
}

int flight_start(struct flight *f, bool urgent)
{
	int rc = 0;

	f->job.run = run;
	f->refs++;
	if (urgent && f->cache->kernel.begin_storage)
		return 0; /* who waits for it first has it run */
	f->is_under_way = true;
	rc = pool_submit(f->cache->pool, &f->job, urgent);
	if (rc < 0)
		f->refs--;
	return rc;
}

struct flight *flight_join(struct cache *c, struct node *n, enum node_part part, size_t max_entries,
			   bool urgent, int *ret_rc)
{
	struct flight *f = n->flights[part];

	if (f) {
		f->refs++;
		return f;
	}
	f = flight_new(c, n, (enum flight_kind)part);
	*ret_rc = -ENOMEM;
	if (!f)
		return NULL;
	f->max_entries = max_entries;
	*ret_rc = flight_start(f, urgent);
	if (*ret_rc < 0) {
		flight_unref(f);
		return NULL;
	}
	n->flights[part] = f;
	return f;
}

/* Asks storage here, if this thread may. Returns what its caller was told meanwhile. */
static int get_under_way(struct flight *f)
{
	struct cache *c = f->cache;
	int rc;

	f->is_under_way = true;
	if (!c->kernel.begin_storage()) {
		rc = pool_submit(c->pool, &f->job, true);
		if (rc < 0) {
			f->rc = rc;
			land(f);
			node_wake(c->nodes, f->node);
			f->refs--;
		}
		return 0;
	}
	node_unlock(c->nodes, f->node);
	run(&f->job);
	node_lock(c->nodes, f->node);
	return c->kernel.end_storage();
}

static int wait_in_time(struct flight *f, int64_t until_ns)
{
	struct cache *c = f->cache;
	int rc = 0;

	if (!f->is_under_way)
		rc = get_under_way(f);
	if (rc == 0 && !f->done && c->kernel.will_wait)
		c->kernel.will_wait();
	while (rc == 0 && !f->done) {
		int64_t now_ns = clock_mono_ns();

		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		if (c->kernel.gives_up && c->kernel.gives_up())
			return -EINTR;
		node_wait(c->nodes, f->node,
			  until_ns - now_ns > LOOK_UP_NS ? now_ns + LOOK_UP_NS : until_ns);
	}
	return rc;
}

bool flight_is_late(const struct flight *f)
{
	return f->awaited_ns && clock_mono_ns() - f->awaited_ns >= f->cache->opts.timeout_ns;
}

int flight_wait(struct flight *f)
{
	struct cache *c = f->cache;
	int64_t start_ns = clock_mono_ns();
	int rc;

	if (!f->awaited_ns)
		f->awaited_ns = start_ns;
	rc = wait_in_time(f, f->awaited_ns + c->opts.timeout_ns);
	metrics_note_wait(clock_mono_ns() - start_ns);
	if (rc == -ETIMEDOUT)
		atomic_fetch_add(&c->counts.timeouts, 1);
	else if (rc == -EINTR)
		atomic_fetch_add(&c->counts.interrupts, 1);
	return rc < 0 ? rc : f->rc;
}
