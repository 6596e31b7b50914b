/* SPDX-License-Identifier: MIT */
#include "sample/tracefs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/compat/compat.h"

static char own[32]; /* "": none */

static int mount_own(void)
{
	int tree = -1, fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);

	if (fs < 0)
		return -1;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		tree = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
				    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	close(fs);
	return tree;
}

static void find(void)
{
	int tree;

	if (access(TRACEFS_FOLDER "/events", F_OK) == 0 || errno != ENOENT)
		return;
	tree = mount_own();
	if (tree >= 0)
		snprintf(own, sizeof own, "/proc/self/fd/%d", tree);
}

const char *tracefs_path(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find);
	return own[0] ? own : TRACEFS_FOLDER;
}
