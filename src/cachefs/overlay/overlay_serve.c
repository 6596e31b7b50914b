/* SPDX-License-Identifier: MIT */
/* overlay_serve: answers other nodes from the cache, and keeps what passes through to them. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cachefs/overlay/bodies.h"
#include "cachefs/overlay/overlay_internal.h"
#include "cachefs/store/cache_share.h"

const char *overlay_path(struct overlay *o, const struct wire_key *key, struct buf *copy)
{
	const char *path = key->path.ptr;
	size_t len = strlen(o->prefix);

	buf_clear(copy);
	if (len && (key->path.len < len || memcmp(path, o->prefix, len) != 0))
		return NULL;
	if (len && key->path.len > len && path[len] != '/')
		return NULL;
	if (len && key->path.len > len)
		len++; /* the '/' */
	buf_put(copy, path + len, key->path.len - len);
	buf_put_byte(copy, '\0');
	if (buf_error(copy) < 0 || !shared_has(o->shared, copy->data))
		return NULL;
	return copy->data;
}

void overlay_take_back(struct overlay *o)
{
	if (o->lent)
		chunk_end_read(o->lent);
	o->lent = NULL;
	buf_clear(&o->body);
}

static bool lend_body(struct overlay *o, struct protocol_answer *ret)
{
	if (buf_error(&o->body) < 0 || o->body.len > WIRE_MAX_BODY)
		return false;
	ret->body.bytes = o->body.len ? o->body.data : NULL;
	ret->body.len = (uint32_t)o->body.len;
	return true;
}

static bool find_attr(struct overlay *o, const char *path, struct protocol_answer *ret)
{
	struct cache_found found;

	if (!cache_find_attr(o->cache, path, &found))
		return false;
	ret->rc = found.rc;
	ret->read_ns = found.read_ns;
	ret->has_attr = found.rc == 0;
	if (ret->has_attr)
		ret->attr = attr_of(&found.attr);
	return true;
}

/* The attributes of a listing's names that are cached. The answer is as old as the oldest. */
static int collect_attrs(struct overlay *o, const char *path, const struct dirlist *listing,
			 struct listing_attrs *ret, int64_t *read_ns)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	int rc = listing_attrs_init(ret, dirlist_count(listing));

	for (size_t i = 0; rc == 0 && i < ret->count; i++) {
		struct cache_found found;

		buf_clear(&name);
		buf_printf(&name, "%s%s%s", path, *path ? "/" : "", dirlist_name(listing, i));
		if (buf_error(&name) < 0 || !cache_find_attr(o->cache, name.data, &found) ||
		    found.rc < 0)
			continue;
		ret->attrs[i] = found.attr;
		ret->codes[i] = 0;
		if (found.read_ns < *read_ns)
			*read_ns = found.read_ns;
	}
	return rc;
}

static bool find_list(struct overlay *o, const char *path, struct protocol_answer *ret)
{
	CLEANUP(listing_attrs_fini) struct listing_attrs attrs = { 0 };
	struct dirlist *listing;
	int rc;

	if (!cache_find_list(o->cache, path, &listing, &ret->read_ns))
		return false;
	rc = collect_attrs(o, path, listing, &attrs, &ret->read_ns);
	if (rc == 0)
		rc = listing_write(listing, &attrs, &o->body);
	dirlist_unref(listing);
	return rc == 0 && lend_body(o, ret);
}

static void forget(struct passed_chunk *p)
{
	buf_fini(&p->path);
	buf_fini(&p->bytes);
	*p = (struct passed_chunk){ .read_ns = 0 };
}

void overlay_forget_passed(struct overlay *o)
{
	for (unsigned i = 0; i < OVERLAY_PASSED; i++)
		forget(&o->passed[i]);
}

static void put_passed(struct overlay *o, const struct wire_key *key,
		       const struct protocol_answer *a)
{
	struct passed_chunk *p = &o->passed[o->next_passed++ % OVERLAY_PASSED];

	forget(p);
	buf_put(&p->path, key->path.ptr, key->path.len);
	buf_put(&p->bytes, a->body.bytes, a->body.len);
	p->identity = key->identity;
	p->index = key->chunk;
	if (buf_error(&p->path) == 0 && buf_error(&p->bytes) == 0)
		p->read_ns = a->read_ns;
}

static struct passed_chunk *find_passed(struct overlay *o, const struct wire_key *key)
{
	for (unsigned i = 0; i < OVERLAY_PASSED; i++) {
		struct passed_chunk *p = &o->passed[i];

		if (p->read_ns && p->index == key->chunk && p->path.len == key->path.len &&
		    file_identity_equals(&p->identity, &key->identity) &&
		    memcmp(p->path.data, key->path.ptr, key->path.len) == 0)
			return p;
	}
	return NULL;
}

static bool find_chunk(struct overlay *o, const char *path, const struct wire_key *key,
		       struct protocol_answer *ret)
{
	struct stat same = stat_of_identity(&key->identity);
	struct passed_chunk *p = find_passed(o, key);

	if (!file_identity_is_known(&key->identity))
		return false;
	if (!cache_find_chunk(o->cache, path, &same, key->chunk, &o->lent)) {
		if (!p)
			return false;
		ret->attr.identity = key->identity;
		ret->read_ns = p->read_ns;
		ret->body.bytes = p->bytes.data;
		ret->body.len = (uint32_t)p->bytes.len;
		return true;
	}
	if (p)
		forget(p);
	ret->attr.identity = key->identity;
	/* It is settled which version it is of (recheck.h), so it is as good as read now. */
	ret->read_ns = clock_mono_ns();
	if (cache_chunk_is_hole(o->lent))
		return true;
	ret->body.bytes = o->lent->bytes;
	ret->body.len = (uint32_t)o->lent->len;
	return true;
}

static bool find_xattrs(struct overlay *o, const struct wire_key *key, struct protocol_answer *ret)
{
	struct str body;

	if (!xattr_table_get(o->xattrs, key->path, &body, &ret->read_ns))
		return false;
	ret->body.bytes = body.len ? body.ptr : NULL;
	ret->body.len = (uint32_t)body.len;
	return true;
}

static bool find(void *self, const struct wire_key *key, struct protocol_answer *ret)
{
	struct overlay *o = self;
	const char *path;

	overlay_take_back(o);
	*ret = (struct protocol_answer){ 0 };
	path = overlay_path(o, key, &o->path);
	if (!path)
		return false;
	switch (key->op) {
	case WIRE_GETATTR:
		return find_attr(o, path, ret);
	case WIRE_LIST:
		return find_list(o, path, ret);
	case WIRE_CHUNK:
		return find_chunk(o, path, key, ret);
	case WIRE_READLINK:
		return cache_find_link(o->cache, path, &o->body, &ret->read_ns) &&
		       lend_body(o, ret);
	case WIRE_XATTRS:
		return find_xattrs(o, key, ret);
	}
	return false;
}

static void keep_list(struct overlay *o, const char *path, const struct protocol_answer *a)
{
	CLEANUP(listing_attrs_fini) struct listing_attrs attrs = { 0 };
	struct dirlist *listing;

	if (listing_read(a->body.bytes, a->body.len, &listing, &attrs) < 0)
		return;
	/* Attributes of what is mounted below are this node's own: kept without any. */
	cache_keep_list(o->cache, path, listing, attrs.attrs, attrs.codes,
			shared_has_mounts(o->shared, path) ? 0 : attrs.count, a->read_ns);
	dirlist_unref(listing);
}

static void keep_chunk(struct overlay *o, const char *path, const struct wire_key *key,
		       const struct protocol_answer *a)
{
	struct stat attr = stat_of_identity(&key->identity);
	uint64_t from = key->chunk * CHUNK_BYTES, left;

	if (!file_identity_is_known(&key->identity) || from >= key->identity.size)
		return;
	left = key->identity.size - from;
	if (left > CHUNK_BYTES)
		left = CHUNK_BYTES;
	if (a->body.len && a->body.len != left)
		return;
	if (!cache_keep_chunk(o->cache, path, &attr, key->chunk, a->body.bytes, (size_t)left,
			      a->read_ns))
		put_passed(o, key, a);
}

/* What this node requested itself is stored when its request completes. */
static void keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
		 bool is_local)
{
	struct overlay *o = self;
	const char *path;
	struct stat attr;

	overlay_take_back(o);
	path = overlay_path(o, key, &o->path);
	if (!path)
		return;
	if (key->op == WIRE_XATTRS && a->rc == 0)
		xattr_table_put(o->xattrs, key->path, (struct str){ a->body.bytes, a->body.len },
				a->read_ns);
	if (is_local || (a->rc < 0 && key->op != WIRE_GETATTR))
		return;
	switch (key->op) {
	case WIRE_GETATTR:
		attr = stat_of(&a->attr);
		if (a->rc < 0 || a->has_attr)
			cache_keep_attr(o->cache, path, a->rc, &attr, a->read_ns);
		break;
	case WIRE_LIST:
		keep_list(o, path, a);
		break;
	case WIRE_CHUNK:
		keep_chunk(o, path, key, a);
		break;
	case WIRE_READLINK:
		cache_keep_link(o->cache, path, a->body.bytes, a->body.len);
		break;
	case WIRE_XATTRS:
		break;
	}
}

const struct cluster_node_ops overlay_ops = {
	.find = find,
	.keep = keep,
	.read = overlay_read,
};
