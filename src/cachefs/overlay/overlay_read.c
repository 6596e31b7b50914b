/* SPDX-License-Identifier: MIT */
/* overlay_read: reads this node's storage for the overlay, by the cache's threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/overlay/bodies.h"
#include "cachefs/overlay/overlay_internal.h"
#include "cachefs/store/cache_share.h"

#define ENTRIES_MAX 200000 /* of a listing; the message holds fewer */
#define XATTRS_MAX (64 << 10)

struct reading {
	struct job job; /* the first member */
	struct overlay *overlay;
	struct cluster_read *read;
	struct buf copy;
	const char *path; /* in copy */
	struct buf body;
};

static void release(void *data)
{
	struct reading *r = data;

	buf_fini(&r->body);
	buf_fini(&r->copy);
	free(r);
}

static void done(struct reading *r, int rc)
{
	struct protocol_answer *a = &r->read->answer;

	a->rc = rc;
	if (rc == 0) {
		a->body.bytes = r->body.len ? r->body.data : NULL;
		a->body.len = (uint32_t)r->body.len;
	}
	cluster_node_read_done(r->read);
}

static int read_attr(struct reading *r)
{
	const struct storage *s = &r->overlay->storage;
	struct protocol_answer *a = &r->read->answer;
	struct stat st;
	int rc = s->ops->lookup(s->self, r->path, &st);

	if (rc < 0)
		return rc;
	a->has_attr = true;
	a->attr = attr_of(&st);
	return 0;
}

/* With as many attributes as storage has without making the listing wait long. */
static int read_list(struct reading *r)
{
	CLEANUP(listing_attrs_fini) struct listing_attrs attrs = { 0 };
	const struct storage *s = &r->overlay->storage;
	struct dirlist *listing;
	size_t done = 0;
	int rc = s->ops->list(s->self, r->path, ENTRIES_MAX, &listing);

	if (rc < 0)
		return rc;
	rc = listing_attrs_init(&attrs, dirlist_count(listing));
	if (rc == 0 && attrs.count && !shared_has_mounts(r->overlay->shared, r->path) &&
	    s->ops->lookup_names(s->self, r->path, listing, 0, attrs.count, attrs.attrs,
				 attrs.codes, &done) < 0)
		done = 0;
	attrs.count = done;
	if (rc == 0)
		rc = listing_write(listing, &attrs, &r->body);
	dirlist_unref(listing);
	return rc;
}

/* The version that the key names: storage compares again while it reads. */
static int read_chunk(struct reading *r)
{
	const struct storage *s = &r->overlay->storage;
	const struct wire_key *key = &r->read->key;
	struct stat same = stat_of_identity(&key->identity);
	uint64_t from = key->chunk * CHUNK_BYTES, size = key->identity.size;
	struct storage_read got;
	size_t len;
	void *room;
	int rc;

	if (!file_identity_is_known(&key->identity) || from >= size)
		return -EINVAL;
	/* Holes are found by the blocks, which no identity has. */
	rc = s->ops->lookup(s->self, r->path, &same);
	if (rc < 0)
		return rc == -ENOENT ? -ESTALE : rc;
	r->read->answer.attr.identity = identity_of(&same);
	if (!file_identity_equals(&r->read->answer.attr.identity, &key->identity))
		return -ESTALE;
	len = (size_t)(size - from < CHUNK_BYTES ? size - from : CHUNK_BYTES);
	room = buf_reserve(&r->body, len);
	if (!room)
		return -ENOMEM;
	rc = s->ops->read_chunk(s->self, r->path, &same, from, room, len, &got);
	if (rc == 0 && got.len != len)
		rc = -ESTALE;
	if (rc == 0 && !got.is_hole)
		buf_grew(&r->body, len);
	return rc;
}

static int put_xattr(const struct reading *r, const char *name, struct buf *out)
{
	const struct storage *s = &r->overlay->storage;
	CLEANUP(buf_fini) struct buf value = { 0 };
	size_t len = strlen(name);
	int rc = s->ops->xattr(s->self, r->path, name, &value);

	if (rc == -ENODATA || !len || len > 255 || value.len > XATTRS_MAX)
		return 0; /* removed meanwhile; or it fits in no message */
	if (rc == 0)
		wire_put_xattr(out, (struct str){ name, len },
			       (struct str){ value.data ? value.data : "", value.len });
	return rc;
}

static int read_xattrs(struct reading *r)
{
	const struct storage *s = &r->overlay->storage;
	CLEANUP(buf_fini) struct buf names = { 0 };
	int rc = s->ops->xattr(s->self, r->path, NULL, &names);

	for (size_t at = 0; rc == 0 && at < names.len; at += strlen(names.data + at) + 1)
		rc = put_xattr(r, names.data + at, &r->body);
	if (rc == 0 && r->body.len > WIRE_MAX_BODY)
		rc = -E2BIG;
	return rc < 0 ? rc : buf_error(&r->body);
}

static int read_op(struct reading *r)
{
	switch (r->read->key.op) {
	case WIRE_GETATTR:
		return read_attr(r);
	case WIRE_LIST:
		return read_list(r);
	case WIRE_CHUNK:
		return read_chunk(r);
	case WIRE_READLINK:
		return r->overlay->storage.ops->read_link(r->overlay->storage.self, r->path,
							  &r->body);
	case WIRE_XATTRS:
		return read_xattrs(r);
	}
	return -EINVAL;
}

static void run(struct job *job)
{
	struct reading *r = (struct reading *)job;

	r->read->answer.read_ns = clock_mono_ns();
	done(r, job->is_refused ? -EIO : read_op(r));
}

void overlay_read(void *self, struct cluster_read *read)
{
	struct overlay *o = self;
	struct reading *r = calloc(1, sizeof *r);

	overlay_take_back(o);
	read->answer = (struct protocol_answer){ .rc = -EIO, .read_ns = clock_mono_ns() };
	if (!r) {
		cluster_node_read_done(read);
		return;
	}
	r->job.run = run;
	r->overlay = o;
	r->read = read;
	r->path = overlay_path(o, &read->key, &r->copy);
	read->release = release;
	read->data = r;
	/* -EXDEV: it is not shared here; the next node tries. */
	if (!r->path)
		done(r, -EXDEV);
	else if (cache_run_storage(o->cache, &r->job, 0) < 0)
		done(r, -EIO);
}
