/* SPDX-License-Identifier: MIT */
#include "cachefs/overlay/bodies.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"

#define ENTRY_MAX (1 + NAME_MAX + 128) /* bytes of an entry, at most */

static int64_t ns_of(struct timespec t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t.tv_sec, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
		return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static struct timespec timespec_of(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	if (t.tv_nsec < 0) {
		t.tv_sec--;
		t.tv_nsec += NS_PER_S;
	}
	return t;
}

struct file_identity identity_of(const struct stat *st)
{
	return (struct file_identity){
		.fs = st->st_dev,
		.ino = st->st_ino,
		.ctime_ns = ns_of(st->st_ctim),
		.size = (uint64_t)st->st_size,
	};
}

struct file_attr attr_of(const struct stat *st)
{
	return (struct file_attr){
		.identity = identity_of(st),
		.mode = st->st_mode,
		.links = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.rdev = st->st_rdev,
		.blocks = (uint64_t)st->st_blocks,
		.block_size = (uint32_t)st->st_blksize,
		.mtime_ns = ns_of(st->st_mtim),
		.atime_ns = ns_of(st->st_atim),
	};
}

struct stat stat_of_identity(const struct file_identity *identity)
{
	return (struct stat){
		.st_dev = identity->fs,
		.st_ino = identity->ino,
		.st_ctim = timespec_of(identity->ctime_ns),
		.st_size = (off_t)identity->size,
	};
}

struct stat stat_of(const struct file_attr *attr)
{
	struct stat st = stat_of_identity(&attr->identity);

	st.st_mode = attr->mode;
	st.st_nlink = attr->links;
	st.st_uid = attr->uid;
	st.st_gid = attr->gid;
	st.st_rdev = attr->rdev;
	st.st_blocks = (blkcnt_t)attr->blocks;
	st.st_blksize = (blksize_t)attr->block_size;
	st.st_mtim = timespec_of(attr->mtime_ns);
	st.st_atim = timespec_of(attr->atime_ns);
	return st;
}

int listing_attrs_init(struct listing_attrs *l, size_t count)
{
	*l = (struct listing_attrs){ .count = count };
	if (!count)
		return 0;
	l->attrs = calloc(count, sizeof *l->attrs);
	l->codes = calloc(count, sizeof *l->codes);
	if (!l->attrs || !l->codes) {
		listing_attrs_fini(l);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		l->codes[i] = -ENOENT;
	return 0;
}

void listing_attrs_fini(struct listing_attrs *l)
{
	free(l->attrs);
	free(l->codes);
	*l = (struct listing_attrs){ 0 };
}

static void put_dots(const struct dirlist *l, struct buf *out)
{
	struct file_attr dot = { .identity = { .ino = dirlist_dot(l, 0) }, .mode = S_IFDIR };

	dot.rdev = dirlist_unlisted_names(l) == UNLISTED_ANY;
	wire_put_entry(out, (struct str){ ".", 1 }, &dot);
	dot.rdev = 0;
	dot.identity.ino = dirlist_dot(l, 1);
	wire_put_entry(out, (struct str){ "..", 2 }, &dot);
}

int listing_write(const struct dirlist *l, const struct listing_attrs *attrs, struct buf *out)
{
	put_dots(l, out);
	for (size_t i = 0; i < dirlist_count(l); i++) {
		const struct dirlist_entry e = dirlist_get(l, i);
		struct file_attr attr = { .identity = { .ino = e.ino },
					  .mode = (uint32_t)DTTOIF(e.dtype) };

		if (i < attrs->count && attrs->codes[i] == 0)
			attr = attr_of(&attrs->attrs[i]);
		if (e.len > NAME_MAX || out->len > WIRE_MAX_BODY - ENTRY_MAX)
			return -E2BIG;
		wire_put_entry(out, (struct str){ e.name, e.len }, &attr);
	}
	return buf_error(out);
}

static bool is_dots(struct str name)
{
	return str_equals(name, ".") || str_equals(name, "..");
}

static int add_entry(struct dirlist *l, struct str name, const struct file_attr *attr)
{
	char text[NAME_MAX + 1];

	if (is_dots(name)) {
		dirlist_set_dot(l, name.len - 1, attr->identity.ino);
		if (name.len == 1)
			dirlist_set_unlisted(l, attr->rdev ? UNLISTED_ANY : UNLISTED_DOT);
		return 0;
	}
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	return dirlist_add(l, text, attr->identity.ino, IFTODT(attr->mode));
}

/* What dirlist_seal() sorted: attributes follow by name. */
static int read_attrs(const void *bytes, size_t len, const struct dirlist *l,
		      struct listing_attrs *ret)
{
	struct cursor c = cursor_make(bytes, len);
	struct file_attr attr;
	struct str name;
	int rc = listing_attrs_init(ret, dirlist_count(l));

	while (rc == 0 && wire_next_entry(&c, &name, &attr)) {
		char text[NAME_MAX + 1];
		ptrdiff_t at;

		if (is_dots(name) || !attr.links)
			continue;
		memcpy(text, name.ptr, name.len);
		text[name.len] = '\0';
		at = dirlist_find(l, text);
		if (at < 0)
			continue;
		ret->attrs[at] = stat_of(&attr);
		ret->codes[at] = 0;
	}
	return rc;
}

int listing_read(const void *bytes, size_t len, struct dirlist **ret,
		 struct listing_attrs *ret_attrs)
{
	struct cursor c = cursor_make(bytes, len);
	struct dirlist *l = dirlist_new();
	struct file_attr attr;
	struct str name;
	int rc = l ? 0 : -ENOMEM;

	if (rc == 0)
		dirlist_set_unlisted(l, UNLISTED_ANY);
	while (rc == 0 && wire_next_entry(&c, &name, &attr))
		rc = add_entry(l, name, &attr);
	if (rc == 0 && c.bad)
		rc = -EPROTO;
	if (rc == 0) {
		dirlist_seal(l);
		rc = read_attrs(bytes, len, l, ret_attrs);
	}
	if (rc < 0)
		dirlist_unref(l);
	else
		*ret = l;
	return rc;
}

int xattrs_read(const void *bytes, size_t len, const char *name, struct buf *ret)
{
	struct cursor c = cursor_make(bytes, len);
	struct str key, value;

	while (wire_next_xattr(&c, &key, &value)) {
		if (!name) {
			buf_put(ret, key.ptr, key.len);
			buf_put_byte(ret, '\0');
		} else if (str_equals(key, name)) {
			buf_put(ret, value.ptr, value.len);
			return buf_error(ret);
		}
	}
	if (c.bad)
		return -EPROTO;
	return name ? -ENODATA : buf_error(ret);
}
