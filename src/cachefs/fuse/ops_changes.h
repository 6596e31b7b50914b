/* SPDX-License-Identifier: MIT */
/*
 * ops_changes: refuses all changes of a view with EROFS.
 *
 * Most views are mounted read-only, and the kernel refuses changes itself. Where Copper's scripts
 * are to work, the view is not: they open metrics/.spec_ioctl_file for reading and writing before
 * they send an ioctl, which the kernel does not allow in a read-only mount.
 */
#ifndef CACHEFS_FUSE_OPS_CHANGES_H
#define CACHEFS_FUSE_OPS_CHANGES_H

#include <fuse_lowlevel.h>

#include "cachefs/store/node.h"

/* May it be opened with these flags? 0 or -EROFS. */
int ops_check_open(const struct node *n, int flags);

/* The same for access(2); attr: of n. */
int ops_check_access(const struct node *n, const struct stat *attr, int wanted);

void ops_refuse_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
			struct fuse_file_info *fi);
void ops_refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev);
void ops_refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void ops_refuse_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_refuse_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name);
void ops_refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		       const char *to_name, unsigned flags);
void ops_refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void ops_refuse_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		       struct fuse_file_info *fi);
void ops_refuse_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
		      struct fuse_file_info *fi);
void ops_refuse_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			 size_t size, int flags);
void ops_refuse_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
void ops_refuse_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t len,
			  struct fuse_file_info *fi);

/* Members of struct fuse_lowlevel_ops. */
/* clang-format off */
#define OPS_REFUSE_CHANGES \
	.setattr = ops_refuse_setattr, .mknod = ops_refuse_mknod, .mkdir = ops_refuse_mkdir, \
	.unlink = ops_refuse_unlink, .rmdir = ops_refuse_unlink, .symlink = ops_refuse_symlink, \
	.rename = ops_refuse_rename, .link = ops_refuse_link, .create = ops_refuse_create, \
	.write = ops_refuse_write, .setxattr = ops_refuse_setxattr, \
	.removexattr = ops_refuse_removexattr, .fallocate = ops_refuse_fallocate
/* clang-format on */

#endif
