/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_list.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cachefs/fuse/request.h"

#define PLUS_ENTRIES 128 /* in one reply of readdirplus */
#define PLUS_BYTES 160   /* the least of one entry. Source: linux/fuse.h, fuse_direntplus */

/* A reply of readdirplus. */
struct stream {
	fuse_req_t req;
	char *bytes; /* [used..size) is free */
	size_t size, used;
};

struct open_folder {
	struct credentials *who; /* holds a reference; NULL: storage is asked in our name */
	pthread_mutex_t lock;
	struct dirlist *names; /* holds a reference; NULL: it was not read yet; under lock */
};

int ops_open_folder(struct fuse_file_info *fi, struct credentials *who)
{
	struct open_folder *folder = calloc(1, sizeof *folder);

	if (!folder)
		return -ENOMEM;
	folder->who = credentials_ref(who);
	pthread_mutex_init(&folder->lock, NULL);
	fi->fh |= (uint64_t)(uintptr_t)folder;
	return 0;
}

static struct open_folder *folder_of(const struct fuse_file_info *fi)
{
	return (struct open_folder *)(uintptr_t)(fi->fh & ~(uint64_t)OPS_BY_PREFETCH);
}

void ops_close_folder(const struct fuse_file_info *fi)
{
	struct open_folder *folder = folder_of(fi);

	if (!folder)
		return;
	dirlist_unref(folder->names);
	credentials_unref(folder->who);
	pthread_mutex_destroy(&folder->lock);
	free(folder);
}

/* The listing to read from: a new one at the start of the folder. As cache_list. */
static int get_names(struct request *r, struct node *n, struct dirlist **ret)
{
	struct open_folder *folder = folder_of(&r->fi);
	size_t from = r->offset > 2 ? (size_t)r->offset - 2 : 0; /* without "." and ".." */
	int rc;

	*ret = NULL;
	if (folder && r->offset) {
		pthread_mutex_lock(&folder->lock);
		*ret = folder->names ? dirlist_ref(folder->names) : NULL;
		pthread_mutex_unlock(&folder->lock);
		if (*ret)
			return 0;
	}
	rc = cache_list(r->mount->cache, &r->waiter, n, from, ret);
	if (rc || !folder)
		return rc;
	pthread_mutex_lock(&folder->lock);
	dirlist_unref(folder->names);
	folder->names = dirlist_ref(*ret);
	pthread_mutex_unlock(&folder->lock);
	return 0;
}

/* "." and "..": index 0 and 1. */
static struct dirlist_entry dot_of(const struct ops_mount *m, struct node *n,
				   const struct dirlist *names, size_t index)
{
	struct node *of = index ? n->parent : n;
	uint64_t number = of ? cache_number(m->cache, of) : 0;

	if (!number)
		number = dirlist_dot(names, index);
	return (struct dirlist_entry){ .name = index ? ".." : ".",
				       .len = index + 1,
				       .ino = number ? number : 1,
				       .dtype = DT_DIR };
}

static void run_readdir(struct request *r)
{
	const struct ops_mount *m = r->mount;
	struct node *n = request_node(r);
	struct dirlist *names = NULL;
	struct dirlist_entry dots[2];
	char *bytes;
	size_t used;
	int rc = get_names(r, n, &names);

	if (rc == CACHE_PARKED)
		return;
	bytes = rc == 0 ? malloc(r->size) : NULL;
	if (rc == 0 && !bytes)
		rc = -ENOMEM;
	request_count(r, n, rc, 0);
	if (rc == 0) {
		for (size_t i = (size_t)r->offset; i < 2; i++)
			dots[i] = dot_of(m, n, names, i);
		used = dirlist_write(names, dots, (size_t)r->offset, bytes, r->size);
		fuse_reply_buf(r->req, bytes, used);
	} else {
		fuse_reply_err(r->req, -rc);
	}
	dirlist_unref(names);
	free(bytes);
	request_end(r);
}

static void list(fuse_req_t req, void (*run)(struct request *r), fuse_ino_t ino, size_t size,
		 off_t offset, const struct fuse_file_info *fi)
{
	struct request r = request_make(req, run, ino, METRICS_READDIR);

	r.size = size;
	r.offset = offset;
	r.fi = *fi;
	r.waiter.blocks = request_node(&r);
	r.waiter.who = folder_of(fi) ? credentials_ref(folder_of(fi)->who) : NULL;
	run(&r);
}

void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi)
{
	list(req, run_readdir, ino, size, offset, fi);
}

/* A range of the listing, with attributes. */
struct plus {
	struct node *nodes[PLUS_ENTRIES]; /* NULL: attributes are not cached */
	struct stat attrs[PLUS_ENTRIES];
	int64_t ttls_ns[PLUS_ENTRIES];
	size_t from, count;
};

static bool put_plus(const struct ops_mount *m, struct stream *s, struct dirlist_entry entry,
		     struct node *n, const struct stat *attr, int64_t ttl_ns, size_t index)
{
	struct fuse_entry_param param = {
		.attr_timeout = ops_timeout(m->attr_timeout_s, ttl_ns),
		.entry_timeout = ops_timeout(m->entry_timeout_s, ttl_ns),
	};
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
			      part->ttls_ns[i], at + 2))
			break;
		if (part->nodes[i])
			atomic_fetch_add(&part->nodes[i]->lookups, 1);
	}
	return i;
}

/* Finds the entries from this offset on, as many as can fit. */
static int find_part(struct request *r, struct node *n, struct dirlist *names, size_t size,
		     size_t from, struct plus *ret)
{
	size_t count = dirlist_count(names), left;

	ret->from = from < 2 ? count : from - 2;
	left = count > ret->from ? count - ret->from : 0;
	ret->count = size / PLUS_BYTES;
	ret->count = ret->count < PLUS_ENTRIES ? ret->count : PLUS_ENTRIES;
	ret->count = ret->count < left ? ret->count : left;
	if (!ret->count)
		return 0;
	return cache_lookup_names(r->mount->cache, &r->waiter, n, names, ret->from, ret->count,
				  ret->nodes, ret->attrs, ret->ttls_ns);
}

static void reply_part(struct request *r, struct stream *s, const struct dirlist *names,
		       const struct plus *part)
{
	size_t put = put_part(r->mount, s, names, part);

	if (fuse_reply_buf(s->req, s->bytes, s->used) != 0)
		for (size_t i = 0; i < put; i++)
			if (part->nodes[i])
				ops_forget(r->mount, (fuse_ino_t)(uintptr_t)part->nodes[i], 1);
	for (size_t i = put; i < part->count; i++)
		if (part->nodes[i])
			node_unref(part->nodes[i], 1);
}

/* 0: replied; CACHE_PARKED or -errno. */
static int serve_part(struct request *r, struct node *n, struct dirlist *names)
{
	struct stream s = { .req = r->req, .bytes = malloc(r->size), .size = r->size };
	size_t from = (size_t)r->offset;
	struct plus part;
	int rc = -ENOMEM;

	for (; s.bytes && from < 2; from++)
		if (!put_plus(r->mount, &s, dot_of(r->mount, n, names, from), NULL, NULL, 0, from))
			break;
	if (s.bytes)
		rc = find_part(r, n, names, s.size - s.used, from, &part);
	if (rc == 0) {
		request_count(r, n, 0, 0);
		reply_part(r, &s, names, &part);
	}
	free(s.bytes);
	return rc;
}

static void run_readdirplus(struct request *r)
{
	struct node *n = request_node(r);
	struct dirlist *names = NULL;
	int rc = get_names(r, n, &names);

	if (rc == 0)
		rc = serve_part(r, n, names);
	dirlist_unref(names);
	if (rc == CACHE_PARKED)
		return;
	if (rc < 0) {
		request_count(r, n, rc, 0);
		fuse_reply_err(r->req, -rc);
	}
	request_end(r);
}

void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	list(req, run_readdirplus, ino, size, offset, fi);
}
