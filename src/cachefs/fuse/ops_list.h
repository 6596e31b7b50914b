/* SPDX-License-Identifier: MIT */
/* ops_list: readdir and readdirplus, members of struct fuse_lowlevel_ops. */
#ifndef CACHEFS_FUSE_OPS_LIST_H
#define CACHEFS_FUSE_OPS_LIST_H

#include <fuse_lowlevel.h>

void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi);
void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi);

#endif
