/* SPDX-License-Identifier: MIT */
/* ops_list: readdir and readdirplus. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "cachefs/fuse/ops_internal.h"

#define PLUS_ENTRIES 128 /* in one reply of readdirplus */
#define PLUS_BYTES 160   /* the least of one entry. Source: linux/fuse.h, fuse_direntplus */

/* A reply of readdirplus. */
struct stream {
	fuse_req_t req;
	char *bytes; /* [used..size) is free */
	size_t size, used;
};

static uint64_t number_of(const struct ops_mount *m, struct node *n)
{
	struct stat attr;

	return cache_attr(m->cache, n, &attr) == 0 ? attr.st_ino : 1;
}

/* "." and "..": index 0 and 1. */
static struct dirlist_entry dot_of(const struct ops_mount *m, struct node *n, size_t index)
{
	return (struct dirlist_entry){ .name = index ? ".." : ".",
				       .len = index + 1,
				       .ino = number_of(m, index && n->parent ? n->parent : n),
				       .dtype = DT_DIR };
}

/* The listing's index of an offset, which also counts "." and "..". */
static size_t index_of(off_t offset)
{
	return offset > 2 ? (size_t)offset - 2 : 0;
}

void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_READDIR);
	struct node *n = ops_node_of(m, ino);
	char *bytes = malloc(size);
	struct dirlist *names;
	size_t used = 0;
	int rc = bytes ? cache_list(m->cache, n, index_of(offset), &names) : -ENOMEM;

	(void)fi;
	if (rc == 0) {
		struct dirlist_entry dots[2];

		for (size_t i = (size_t)offset; i < 2; i++)
			dots[i] = dot_of(m, n, i);
		used = dirlist_write(names, dots, (size_t)offset, bytes, size);
		dirlist_unref(names);
	}
	ops_end_call(m, &call, n, rc, 0);
	if (rc == 0)
		fuse_reply_buf(req, bytes, used);
	else
		fuse_reply_err(req, -rc);
	free(bytes);
}

/* A range of the listing, with attributes. */
struct plus {
	struct node *nodes[PLUS_ENTRIES]; /* NULL: attributes are not cached */
	struct stat attrs[PLUS_ENTRIES];
	size_t from, count;
};

static bool put_plus(const struct ops_mount *m, struct stream *s, struct dirlist_entry entry,
		     struct node *n, const struct stat *attr, size_t index)
{
	struct fuse_entry_param param = { .attr_timeout = m->attr_timeout_s,
					  .entry_timeout = m->entry_timeout_s };
	size_t room = s->size - s->used, len;

	if (n) {
		param.ino = (fuse_ino_t)(uintptr_t)n;
		param.attr = *attr;
	} else {
		param.attr = (struct stat){ .st_ino = entry.ino,
					    .st_mode = (mode_t)DTTOIF(entry.dtype) };
	}
	len = fuse_add_direntry_plus(s->req, s->bytes + s->used, room, entry.name, &param,
				     (off_t)(index + 1));
	if (len > room)
		return false;
	s->used += len;
	return true;
}

/* Returns how many entries fit the reply; each becomes a lookup of the kernel. */
static size_t put_part(const struct ops_mount *m, struct stream *s, const struct dirlist *names,
		       const struct plus *part)
{
	size_t i;

	for (i = 0; i < part->count; i++) {
		size_t at = part->from + i;

		if (!put_plus(m, s, dirlist_get(names, at), part->nodes[i], &part->attrs[i],
			      at + 2))
			break;
		if (part->nodes[i])
			atomic_fetch_add(&part->nodes[i]->lookups, 1);
	}
	return i;
}

static void reply_part(const struct ops_mount *m, struct stream *s, struct node *n,
		       struct dirlist *names, size_t from)
{
	size_t left, put = 0;
	struct plus part;

	for (; from < 2; from++)
		if (!put_plus(m, s, dot_of(m, n, from), NULL, NULL, from))
			break;
	part.from = from < 2 ? dirlist_count(names) : from - 2;
	left = dirlist_count(names) > part.from ? dirlist_count(names) - part.from : 0;
	part.count = (s->size - s->used) / PLUS_BYTES;
	part.count = part.count < PLUS_ENTRIES ? part.count : PLUS_ENTRIES;
	part.count = part.count < left ? part.count : left;
	if (part.count) {
		cache_lookup_names(m->cache, n, names, part.from, part.count, part.nodes,
				   part.attrs);
		put = put_part(m, s, names, &part);
	}
	if (fuse_reply_buf(s->req, s->bytes, s->used) != 0)
		for (size_t i = 0; i < put; i++)
			if (part.nodes[i])
				ops_forget(m, (fuse_ino_t)(uintptr_t)part.nodes[i], 1);
	for (size_t i = put; i < part.count; i++)
		if (part.nodes[i])
			node_unref(part.nodes[i], 1);
}

void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_READDIR);
	struct stream s = { .req = req, .bytes = malloc(size), .size = size };
	struct node *n = ops_node_of(m, ino);
	struct dirlist *names = NULL;
	int rc = s.bytes ? cache_list(m->cache, n, index_of(offset), &names) : -ENOMEM;

	(void)fi;
	ops_end_call(m, &call, n, rc, 0);
	if (rc == 0)
		reply_part(m, &s, n, names, (size_t)offset);
	else
		fuse_reply_err(req, -rc);
	dirlist_unref(names);
	free(s.bytes);
}
