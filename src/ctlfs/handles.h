/* SPDX-License-Identifier: MIT */
/*
 * handles: open files, and the blocked requests of their readers.
 */
#ifndef CTLFS_HANDLES_H
#define CTLFS_HANDLES_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "ctlfs/nodes.h"
#include "ctlfs/snapshot.h"

/* What the open files of one user may take; more is -EMFILE. */
#define HANDLES_MAX 1024
#define HANDLES_MAX_BYTES ((uint64_t)128 << 20)
#define HANDLES_SNAPSHOT_BYTES ((uint64_t)32 << 20) /* how much one counts while it is made */

struct handle {
	struct handle *next;
	struct node_id id;
	uid_t user;
	size_t core;     /* index, of queues; QUEUE_ALL */
	bool is_reader;  /* is the one reader of a queue */
	struct buf text; /* what reads return, from at */
	size_t at;
	bool is_made;    /* SOURCE_CTL: text is rendered for this read */
	char error[512]; /* SOURCE_CTL: why the last write failed; "": it did not */
	struct stream *stream;
	struct snapshot *snapshot; /* in progress, for the opener */
	fuse_req_t opener;         /* request that waits for it; NULL: none, or interrupted */
	bool is_opener_interrupted;
	struct fuse_file_info fi; /* of the opener */
	struct fuse_pollhandle *poll;
};

struct waiter {
	struct waiter *next;
	fuse_req_t req;
	struct handle *handle;
	size_t size;
	bool is_interrupted;
};

/* All zero but state is empty. */
struct handles {
	struct ctlfs_state *state; /* borrowed */
	struct handle *list;
	struct waiter *waiters;
};

/* Frees all handles; blocked requests fail with ENODEV. */
void handles_fini(struct handles *h);

/* 0, -EMFILE, or -ENOMEM. */
int handles_add(struct handles *h, struct node_id p, uid_t user, struct handle **ret) MUST_CHECK;
/* May the user have so many bytes more? 0 or -EMFILE. */
int handles_check_bytes(const struct handles *h, uid_t user, uint64_t more) MUST_CHECK;
void handles_remove(struct handles *h, struct handle *handle);
bool handles_has_reader(const struct handles *h, struct node_id p, size_t core); /* by a reader */
void handles_drop_session(struct handles *h, const struct session *s); /* it will be freed */

/* Answers a read of a queue or stream, at once or later. */
void handles_read(struct handles *h, struct handle *handle, fuse_req_t req, size_t size,
		  bool is_nonblocking);

/* Can a read return at once, and is it the end of the file? */
bool handles_is_ready(const struct handles *h, const struct handle *handle, bool *ret_is_end);

/* Blocks the open until the snapshot is complete. */
void handles_wait_for_snapshot(struct handles *h, struct handle *handle, fuse_req_t req,
			       const struct fuse_file_info *fi);

/* Answers all requests that can be answered. */
void handles_serve(struct handles *h);

#endif
