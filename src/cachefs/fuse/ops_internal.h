/* SPDX-License-Identifier: MIT */
/* ops_internal: what the source files of the operations share. */
#ifndef CACHEFS_FUSE_OPS_INTERNAL_H
#define CACHEFS_FUSE_OPS_INTERNAL_H

#include "cachefs/fuse/ops.h"

/* Begins to serve a request in this thread. */
struct ops_mount *ops_mount_of(fuse_req_t req);

struct node *ops_node_of(const struct ops_mount *m, fuse_ino_t ino);

/* Counts a request, before its reply. n: its node; NULL: none. */
void ops_end_call(const struct ops_mount *m, const struct metrics_call *call, struct node *n,
		  int rc, uint64_t bytes);

/* FUSE_FORGET: the kernel drops count lookups. */
void ops_forget(const struct ops_mount *m, fuse_ino_t ino, uint64_t count);

/* Members of struct fuse_lowlevel_ops. */
void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi);
void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi);

#endif
