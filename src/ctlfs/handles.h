/* SPDX-License-Identifier: MIT */
/*
 * handles: open files, and the requests that wait for something to answer them with.
 */
#ifndef CTLFS_HANDLES_H
#define CTLFS_HANDLES_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "ctlfs/nodes.h"
#include "ctlfs/snapshot.h"

struct handle {
	struct handle *next;
	struct place place;
	size_t core;     /* index, of queues; QUEUE_ALL */
	bool is_reader;  /* has a queue for itself */
	struct buf text; /* what is read, from at on */
	size_t at;
	bool is_made;    /* SOURCE_CTL: text is what this reading gives */
	char error[512]; /* SOURCE_CTL: why what was written was refused; "": it was not */
	struct stream *stream;
	struct snapshot *snapshot; /* being made, for the opener */
	fuse_req_t opener;         /* that waits for it, NULL: none, or interrupted */
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

/* All zero but world is empty. */
struct handles {
	struct world *world; /* borrowed */
	struct handle *list;
	struct waiter *waiters;
};

/* Ends all: requests that wait get -ENODEV. */
void handles_fini(struct handles *h);

struct handle *handles_add(struct handles *h, struct place p); /* NULL: out of memory */
void handles_remove(struct handles *h, struct handle *handle);
bool handles_is_taken(const struct handles *h, struct place p, size_t core); /* by a reader */
void handles_forget_session(struct handles *h, const struct session *s);     /* it will be freed */

/* Answers a read of a queue or stream, now or later. */
void handles_read(struct handles *h, struct handle *handle, fuse_req_t req, size_t size,
		  bool is_nonblocking);

/* Is there something to read, and is it the end? */
bool handles_is_ready(const struct handles *h, const struct handle *handle, bool *ret_is_end);

/* The opener waits for the snapshot. */
void handles_await_snapshot(struct handles *h, struct handle *handle, fuse_req_t req,
			    const struct fuse_file_info *fi);

/* Answers what can be answered. */
void handles_serve(struct handles *h);

#endif
