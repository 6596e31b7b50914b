/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/fd.h"
#include "base/log.h"

#define FUSECTL "/sys/fs/fuse/connections"

/* Containers and small systems do not mount fusectl. Root opens it without mounting it anywhere. */
static int open_detached_fusectl(void)
{
	CLEANUP(fd_close) int fs = (int)syscall(SYS_fsopen, "fusectl", FSOPEN_CLOEXEC);

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* A FUSE device has major number 0, and its minor number names the connection. */
int connection_open(dev_t device)
{
	CLEANUP(fd_close) int fusectl = -1;
	char path[64];
	int fd;

	snprintf(path, sizeof path, FUSECTL "/%u/abort", minor(device));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fusectl = open_detached_fusectl();
	return fusectl < 0 ? -1 : openat(fusectl, path + strlen(FUSECTL) + 1, O_WRONLY | O_CLOEXEC);
}

void connection_abort(int connection)
{
	if (connection >= 0 && write(connection, "1", 1) < 0)
		log_msg(LOG_DEBUG, "cache", "cannot abort the connection: %s", strerror(errno));
}
