/* SPDX-License-Identifier: MIT */
/*
 * ops_open: open, opendir and their ends, members of struct fuse_lowlevel_ops.
 *
 * The handle of an open file has flags in its lowest bits; the others are a reference to the
 * credentials of who opened it (0: none).
 */
#ifndef CACHEFS_FUSE_OPS_OPEN_H
#define CACHEFS_FUSE_OPS_OPEN_H

#include <fuse_lowlevel.h>

#include "cachefs/rights/credentials.h"

/* In whose name the file is read, whoever reads by the descriptor; borrowed from the handle. NULL:
 * in ours. */
struct credentials *ops_opener_of(const struct fuse_file_info *fi);

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
