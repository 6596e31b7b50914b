/* SPDX-License-Identifier: MIT */
/*
 * passthrough: FUSE passthrough: the kernel reads a file from its backing file by itself.
 *
 * A file that is completely cached when it is opened is passed through: reading and mapping it
 * sends no requests, and can use huge pages. The kernel refuses to have a file open in both modes,
 * so the first open decides the mode until the last close. Until then all data stays cached.
 * Source: Documentation/filesystems/fuse/fuse-passthrough.rst and fs/fuse/iomode.c of Linux.
 */
#ifndef CACHEFS_STORE_PASSTHROUGH_H
#define CACHEFS_STORE_PASSTHROUGH_H

#include <stdbool.h>
#include <stdint.h>

#include "cachefs/store/node.h"
#include "cachefs/store/pool.h"

/* The files of one cache. All but bytes and has_failed: written before start. */
struct passthroughs {
	struct nodes *nodes;
	struct pool *pool; /* collapses huge pages */
	int fuse_fd;
	uint64_t max_bytes;
	const _Atomic bool *is_ending;
	_Atomic uint64_t bytes;  /* of files that are passed through now */
	_Atomic bool has_failed; /* the log has the reason */
};

/* For the reply to an open of the file n: its backing id, 0 in cached mode, or -ENOMEM. */
int passthrough_open(struct passthroughs *t, struct node *n) MUST_CHECK;
/* was_passthrough: the reply had a backing id. */
void passthrough_close(struct passthroughs *t, struct node *n, bool was_passthrough);

/* For nodes_new: frees the state of a node that is still open at the end. */
void passthrough_release(struct node *n);

#endif
