/* SPDX-License-Identifier: MIT */
/* ops_list: readdir and readdirplus, members of struct fuse_lowlevel_ops. */
#ifndef CACHEFS_FUSE_OPS_LIST_H
#define CACHEFS_FUSE_OPS_LIST_H

#include <fuse_lowlevel.h>

#include "base/macros.h"
#include "cachefs/rights/credentials.h"

#define OPS_BY_PREFETCH 1 /* a flag in the handle of what is open: its release is not counted */

/*
 * An open folder keeps the listing that it is read from, from its start on, so that offsets mean
 * the same while entries come and go, and who opened it. fi->fh: OPS_BY_PREFETCH or 0; then also
 * what is kept, which close frees. Without such a handle, the cached listing is read. -ENOMEM.
 */
int ops_open_folder(struct fuse_file_info *fi, struct credentials *who) MUST_CHECK;
void ops_close_folder(const struct fuse_file_info *fi);

void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi);
void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi);

#endif
