/* SPDX-License-Identifier: MIT */
/*
 * request: a request of the kernel, served from memory or parked until storage replies.
 *
 * run() serves it from the start: it replies and calls request_end, or it returns when a call of
 * the cache returned CACHE_PARKED, and is called again later, by another thread. The request is on
 * the stack of the thread that read it, and moves to the heap when it is parked: after
 * CACHE_PARKED, run() must not touch it.
 */
#ifndef CACHEFS_FUSE_REQUEST_H
#define CACHEFS_FUSE_REQUEST_H

#include <fuse_lowlevel.h>

#include "cachefs/fuse/ops_mount.h"

struct request {
	struct waiter waiter; /* the first member */
	fuse_req_t req;
	struct ops_mount *mount;
	struct metrics_call call;
	void (*run)(struct request *r);
	fuse_ino_t ino;
	const char *name; /* lookup: the name; xattr: the attribute, NULL: all */
	size_t size;
	off_t offset;
	int number;               /* access: the wanted rights; lseek: whence */
	struct fuse_file_info fi; /* open */
	bool is_kept;             /* on the heap; with its name */
};

/* ino: its node. The caller sets what else run() needs, and calls it. */
struct request request_make(fuse_req_t req, void (*run)(struct request *r), fuse_ino_t ino,
			    enum metrics_op op);
struct node *request_node(const struct request *r);

/* Sets waiter.who where storage may have to be asked in the caller's name. It reads /proc; of a
 * process in another PID namespace, or with too many groups, waiter.who stays NULL. */
void request_note_caller(struct request *r);

/* Counts it, before its reply. n: the node to count it for; NULL: none. */
void request_count(struct request *r, struct node *n, int rc, uint64_t bytes);
/* Counts an operation that is served at once. */
void request_count_at_once(fuse_req_t req, enum metrics_op op);
/* After its reply. */
void request_end(struct request *r);

#endif
