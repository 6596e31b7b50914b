/* SPDX-License-Identifier: MIT */
#include "cachefs/overlay/overlay.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cachefs/overlay/bodies.h"
#include "cachefs/overlay/overlay_internal.h"

static_assert(CHUNK_BYTES == WIRE_CHUNK_BYTES, "a chunk is one reply");

/* Is it one whole chunk of a file? */
static bool is_chunk(const struct storage_request *r)
{
	uint64_t size = (uint64_t)r->attr.st_size, left = size - r->offset;

	return r->offset % CHUNK_BYTES == 0 && r->offset < size &&
	       r->len == (left < CHUNK_BYTES ? left : CHUNK_BYTES) &&
	       r->offset / CHUNK_BYTES <= UINT32_MAX;
}

/* False: it is for this node's storage. */
static bool make_key(const struct storage_request *r, struct wire_key *ret)
{
	switch (r->kind) {
	case STORAGE_LOOKUP:
	case STORAGE_SEEK: /* all of a file counts as data: its size is enough */
		ret->op = WIRE_GETATTR;
		return true;
	case STORAGE_LIST:
		ret->op = WIRE_LIST;
		return true;
	case STORAGE_READ:
		ret->op = WIRE_CHUNK;
		ret->chunk = (uint32_t)(r->offset / CHUNK_BYTES);
		ret->identity = identity_of(&r->attr);
		return !r->is_fresh && is_chunk(r);
	case STORAGE_READ_LINK:
		ret->op = WIRE_READLINK;
		return true;
	case STORAGE_XATTR:
		ret->op = WIRE_XATTRS;
		return true;
	case STORAGE_LOOKUP_NAMES:
	case STORAGE_STAT_FS:
	case STORAGE_ACCESS:
		break;
	}
	return false;
}

static int fill_attr(struct storage_request *r, const struct protocol_answer *a)
{
	if (!a->has_attr)
		return -EIO;
	r->attr = stat_of(&a->attr);
	return 0;
}

/* lseek(2) without holes. */
static int fill_seek(struct storage_request *r, const struct protocol_answer *a)
{
	uint64_t size = a->attr.identity.size;

	if (!a->has_attr)
		return -EIO;
	if (r->offset >= size)
		return -ENXIO;
	r->number = r->whence == SEEK_HOLE ? size : r->offset;
	return 0;
}

/* What is mounted in the folder here is not what the other node has there. */
static void drop_mounts(struct overlay *o, const struct storage_request *r,
			struct listing_attrs *attrs)
{
	if (!shared_has_mounts(o->shared, r->path.data))
		return;
	for (size_t i = 0; i < attrs->count; i++) {
		CLEANUP(buf_fini) struct buf path = { 0 };

		buf_printf(&path, "%s%s%s", r->path.data, *r->path.data ? "/" : "",
			   dirlist_name(r->listing, i));
		if (buf_error(&path) < 0 || !shared_has(o->shared, path.data) ||
		    shared_has_mounts(o->shared, path.data))
			attrs->codes[i] = -ENOENT;
	}
}

static int fill_list(struct overlay *o, struct storage_request *r, const struct protocol_answer *a)
{
	struct listing_attrs attrs = { 0 };
	int rc = listing_read(a->body.bytes, a->body.len, &r->listing, &attrs);

	if (rc < 0)
		return rc == -EPROTO ? -EIO : rc;
	if (dirlist_count(r->listing) > r->max_entries) {
		listing_attrs_fini(&attrs);
		return -E2BIG;
	}
	drop_mounts(o, r, &attrs);
	r->attrs = attrs.attrs;
	r->codes = attrs.codes;
	r->done = attrs.count;
	return 0;
}

/* An empty body of a chunk means zeros. */
static int fill_chunk(struct storage_request *r, const struct protocol_answer *a)
{
	if (a->body.len && a->body.len != r->len)
		return -ESTALE;
	if (a->body.len)
		memcpy(r->into, a->body.bytes, r->len);
	r->read = (struct storage_read){
		.len = r->len,
		.is_hole = !a->body.len,
		.before = r->attr,
		.after = r->attr,
	};
	return 0;
}

static int fill(struct overlay *o, struct storage_request *r, const struct protocol_answer *a)
{
	switch (r->kind) {
	case STORAGE_LOOKUP:
		return fill_attr(r, a);
	case STORAGE_SEEK:
		return fill_seek(r, a);
	case STORAGE_LIST:
		return fill_list(o, r, a);
	case STORAGE_READ:
		return fill_chunk(r, a);
	case STORAGE_READ_LINK:
		buf_put(&r->out, a->body.bytes, a->body.len);
		return buf_error(&r->out);
	case STORAGE_XATTR:
		return xattrs_read(a->body.bytes, a->body.len, r->name, &r->out);
	case STORAGE_LOOKUP_NAMES:
	case STORAGE_STAT_FS:
	case STORAGE_ACCESS:
		break;
	}
	return -EIO;
}

/* A request that waits for other nodes. */
struct asked {
	struct overlay *overlay;
	struct storage_request *request;
	int64_t start_ns;
};

/* Runs what the other nodes could not send: a listing that does not fit in a message, and what
 * storage refuses to them, but may grant to who asks here. */
static bool is_for_pool(const struct storage_request *r)
{
	if (storage_is_refused(r) && !credentials_are_ours(r->who))
		return true;
	return r->kind == STORAGE_LIST && r->rc == -E2BIG && r->max_entries == SIZE_MAX;
}

static void answered(void *self, const struct wire_key *key, const struct protocol_answer *a)
{
	struct asked *asked = self;
	struct storage_request *r = asked->request;
	struct overlay *o = asked->overlay;
	int64_t now_ns = clock_mono_ns();

	(void)key;
	r->took_ns = now_ns - asked->start_ns;
	free(asked);
	if (a->rc == -ESHUTDOWN) {
		r->rc = -ENOTCONN;
	} else {
		r->age_ns = now_ns > a->read_ns ? now_ns - a->read_ns : 0;
		r->rc = a->rc < 0 ? a->rc : fill(o, r, a);
	}
	overlay_take_back(o); /* it may have been lent to this answer */
	if (is_for_pool(r)) {
		r->age_ns = 0;
		if (storage_submit_to_pool(r->queue, r, 0, true) == 0)
			return;
	}
	r->complete(r);
}

static int ask(struct overlay *o, struct storage_request *r, const struct wire_key *key)
{
	struct asked *asked = malloc(sizeof *asked);
	int rc = -ENOMEM;

	if (!asked)
		return rc;
	*asked = (struct asked){ o, r, clock_mono_ns() };
	pthread_mutex_lock(&o->lock);
	if (o->node)
		rc = cluster_node_request(o->node, key, r->is_fresh ? 0 : o->opts.ttl_ns, answered,
					  asked);
	pthread_mutex_unlock(&o->lock);
	if (rc < 0)
		free(asked);
	return rc;
}

/* Of what other nodes cannot tell, this node's storage is asked: also while too much is in flight.
 */
static int submit(void *self, struct storage_request *r, bool high_priority)
{
	struct overlay *o = self;
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct wire_key key = { .op = WIRE_GETATTR };

	(void)high_priority;
	if (!make_key(r, &key) || !shared_has(o->shared, r->path.data))
		return STORAGE_BY_POOL;
	buf_put_str(&path, o->prefix);
	if (*o->prefix && *r->path.data)
		buf_put_byte(&path, '/');
	buf_put_str(&path, r->path.data);
	if (buf_error(&path) < 0 || path.len > WIRE_MAX_PATH)
		return STORAGE_BY_POOL;
	key.path = (struct str){ path.data, path.len };
	return ask(o, r, &key) == 0 ? 0 : STORAGE_BY_POOL;
}

/* The attributes of shared names came with their listing. */
static int lookup_names(void *self, const char *path, const struct dirlist *names, size_t from,
			size_t count, struct stat *ret, int *ret_rc, size_t *ret_count)
{
	struct overlay *o = self;

	*ret_count = 0;
	if (shared_has(o->shared, path))
		return 0;
	return o->storage.ops->lookup_names(o->storage.self, path, names, from, count, ret, ret_rc,
					    ret_count);
}

static int lookup(void *self, const char *path, struct stat *ret)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->lookup(s->self, path, ret);
}

static int list(void *self, const char *path, size_t max_entries, struct dirlist **ret)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->list(s->self, path, max_entries, ret);
}

static int read_chunk(void *self, const char *path, const struct stat *same, uint64_t offset,
		      void *into, size_t len, struct storage_read *ret)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->read_chunk(s->self, path, same, offset, into, len, ret);
}

static int read_link(void *self, const char *path, struct buf *ret)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->read_link(s->self, path, ret);
}

static int xattr(void *self, const char *path, const char *name, struct buf *ret)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->xattr(s->self, path, name, ret);
}

static int seek(void *self, const char *path, uint64_t offset, int whence, uint64_t *ret)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->seek(s->self, path, offset, whence, ret);
}

static int stat_fs(void *self, const char *path, struct statvfs *ret)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->stat_fs(s->self, path, ret);
}

static int may(void *self, const char *path, const struct stat *same, int wanted)
{
	const struct storage *s = &((struct overlay *)self)->storage;

	return s->ops->access(s->self, path, same, wanted);
}

struct storage overlay_storage(struct overlay *o)
{
	static const struct storage_ops ops = {
		.lookup = lookup,
		.lookup_names = lookup_names,
		.list = list,
		.read_chunk = read_chunk,
		.read_link = read_link,
		.xattr = xattr,
		.seek = seek,
		.stat_fs = stat_fs,
		.access = may,
		.submit = submit,
	};

	return (struct storage){ &ops, o };
}

int overlay_open(const struct overlay_opts *opts, struct local *local, struct overlay **ret,
		 struct err *e)
{
	struct overlay *o = calloc(1, sizeof *o);
	int rc;

	if (!o)
		return err_nomem(e);
	o->opts = *opts;
	o->local = local;
	o->storage = local_storage(local);
	pthread_mutex_init(&o->lock, NULL);
	o->prefix = strdup(opts->shared.target + 1);
	o->xattrs = xattr_table_new();
	rc = o->prefix && o->xattrs ? shared_open(&opts->shared, &o->shared, e) : err_nomem(e);
	if (rc < 0) {
		overlay_close(o);
		return rc;
	}
	local_name_devices(local, shared_fs, o->shared);
	*ret = o;
	return 0;
}

void overlay_close(struct overlay *o)
{
	if (!o)
		return;
	overlay_leave(o);
	shared_close(o->shared);
	xattr_table_free(o->xattrs);
	pthread_mutex_destroy(&o->lock);
	buf_fini(&o->body);
	buf_fini(&o->path);
	overlay_forget_passed(o);
	free(o->prefix);
	free(o);
}

int overlay_join(struct overlay *o, struct cache *cache, struct err *e)
{
	struct cluster_node *node = NULL;
	int64_t start_ns = clock_mono_ns();
	int rc;

	o->cache = cache;
	rc = cluster_node_start(&o->opts.node, &overlay_ops, o, &node, e);
	if (rc < 0)
		return rc;
	log_msg(LOG_INFO, "cache", "provider registration completed after %lld us",
		(long long)(clock_mono_ns() - start_ns) / 1000);
	pthread_mutex_lock(&o->lock);
	o->node = node;
	pthread_mutex_unlock(&o->lock);
	return 0;
}

void overlay_leave(struct overlay *o)
{
	struct cluster_node *node;

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	node = o->node;
	o->node = NULL;
	pthread_mutex_unlock(&o->lock);
	cluster_node_stop(node);
	if (node)
		overlay_take_back(o);
}

bool overlay_statistics(struct overlay *o, struct cluster_statistics *ret)
{
	bool is_joined;

	pthread_mutex_lock(&o->lock);
	is_joined = o->node != NULL;
	if (is_joined)
		cluster_node_statistics(o->node, ret);
	pthread_mutex_unlock(&o->lock);
	return is_joined;
}
