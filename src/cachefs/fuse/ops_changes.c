/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Source: Copper's ioctl.py. */
static bool is_control_file(const struct node *n)
{
	return strcmp(n->name, ".spec_ioctl_file") == 0 && n->parent &&
	       strcmp(n->parent->name, "metrics") == 0;
}

int ops_check_open(const struct node *n, int flags)
{
	if (flags & O_TRUNC)
		return -EROFS;
	return (flags & O_ACCMODE) == O_RDONLY || is_control_file(n) ? 0 : -EROFS;
}

/* As in a read-only mount, pipes and sockets may be written to: that does not change the view. */
int ops_check_access(const struct node *n, const struct stat *attr, int wanted)
{
	bool is_changed = S_ISREG(attr->st_mode) || S_ISDIR(attr->st_mode);

	return wanted & W_OK && is_changed && !is_control_file(n) ? -EROFS : 0;
}

void ops_refuse_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
			struct fuse_file_info *fi)
{
	(void)ino;
	(void)attr;
	(void)to_set;
	(void)fi;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)dev;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	(void)link;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		       const char *to_name, unsigned flags)
{
	(void)parent;
	(void)name;
	(void)to;
	(void)to_name;
	(void)flags;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		       struct fuse_file_info *fi)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)fi;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
		      struct fuse_file_info *fi)
{
	(void)ino;
	(void)bytes;
	(void)size;
	(void)offset;
	(void)fi;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			 size_t size, int flags)
{
	(void)ino;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	(void)name;
	fuse_reply_err(req, EROFS);
}

void ops_refuse_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t len,
			  struct fuse_file_info *fi)
{
	(void)ino;
	(void)mode;
	(void)offset;
	(void)len;
	(void)fi;
	fuse_reply_err(req, EROFS);
}
