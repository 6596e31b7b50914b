/* SPDX-License-Identifier: MIT */
#include "relocate/copy/inode_flags.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "relocate/copy/beneath.h"
#include "target/proc.h"

static int open_again(int path_fd)
{
	char path[PROC_PATH];

	snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

void inode_flags_read(int fd, struct inode_flags *ret)
{
	struct fsxattr x = { 0 };
	int flags = 0;

	*ret = (struct inode_flags){ 0 };
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0)
		ret->flags = (uint32_t)flags;
	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) == 0)
		ret->project = x.fsx_projid;
}

int inode_flags_set(int fd, uint32_t is, uint32_t wanted)
{
	int flags = (int)wanted;

	return is == wanted || ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0 ? 0 : -errno;
}

int inode_flags_set_project(int fd, uint32_t is, uint32_t wanted)
{
	struct fsxattr x = { 0 };

	if (is == wanted)
		return 0;
	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return -errno;
	x.fsx_projid = wanted;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x) < 0 ? -errno : 0;
}

void inode_flags_restore(int fd, const struct inode_flags *saved)
{
	struct inode_flags is;

	inode_flags_read(fd, &is);
	(void)inode_flags_set(fd, is.flags, saved->flags);
	(void)inode_flags_set_project(fd, is.project, saved->project);
}

static void clear_late(int fd)
{
	struct inode_flags is;

	inode_flags_read(fd, &is);
	(void)inode_flags_set(fd, is.flags, is.flags & ~(uint32_t)INODE_FLAGS_LATE);
}

void inode_flags_unlock(int dir, const char *name)
{
	CLEANUP(fd_close) int above = open_again(dir);
	int fd;

	if (above >= 0)
		clear_late(above);
	fd = open_beneath(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	if (fd >= 0)
		clear_late(fd);
	fd_close(&fd);
}
