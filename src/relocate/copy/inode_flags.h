/* SPDX-License-Identifier: MIT */
/*
 * inode_flags: the flags of an inode (chattr) and its project id.
 *
 * Source: ioctl_iflags(2); FS_IOC_FSSETXATTR in linux/fs.h.
 */
#ifndef RELOCATE_COPY_INODE_FLAGS_H
#define RELOCATE_COPY_INODE_FLAGS_H

#include <linux/fs.h>
#include <stdint.h>

/* Nobody can write to a file with these, so the copy sets them last. */
#define INODE_FLAGS_LATE (FS_APPEND_FL | FS_IMMUTABLE_FL)

/* 0 where the file system has none. */
struct inode_flags {
	uint32_t flags, project;
};

void inode_flags_read(int fd, struct inode_flags *ret);
/* Makes the flags or the project of fd, which are is, wanted. 0 or -errno. */
int inode_flags_set(int fd, uint32_t is, uint32_t wanted);
int inode_flags_set_project(int fd, uint32_t is, uint32_t wanted);
/* Sets what the file system takes of saved. */
void inode_flags_restore(int fd, const struct inode_flags *saved);

/* Clears INODE_FLAGS_LATE of dir (may be O_PATH) and of name in it, so that name can be removed. */
void inode_flags_unlock(int dir, const char *name);

#endif
