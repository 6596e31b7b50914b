/* SPDX-License-Identifier: MIT */
/* ops_inside: what the operations have in common, and those that ops.c only lists. */
#ifndef CACHEFS_FUSE_OPS_INTERNAL_H
#define CACHEFS_FUSE_OPS_INTERNAL_H

#include "cachefs/fuse/ops.h"

/* Of a request that is answered by this thread from here on. */
struct ops_mount *ops_mount_of(fuse_req_t req);

struct node *ops_node_of(const struct ops_mount *m, fuse_ino_t ino);

/* The request is answered next; n: whose it was, NULL: nobody's. */
void ops_end_call(const struct ops_mount *m, const struct metrics_call *call, struct node *n,
		  int rc, uint64_t bytes);

/* The kernel counts on it so much less. */
void ops_forget(const struct ops_mount *m, fuse_ino_t ino, uint64_t count);

/* Of struct fuse_lowlevel_ops. */
void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi);
void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi);

#endif
