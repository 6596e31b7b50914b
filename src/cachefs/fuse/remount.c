/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/remount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/compat/compat.h"

int remount_clone(const char *view, const char *name)
{
	char *path;
	int tree;

	if (asprintf(&path, "%s/%s", view, name) < 0)
		return -ENOMEM;
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	free(path);
	return tree < 0 ? -errno : tree;
}

static int move(int tree, const char *view, unsigned flags)
{
	return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, view,
			    MOVE_MOUNT_F_EMPTY_PATH | flags);
}

int remount_move(int tree, const char *view, struct err *e)
{
	bool is_there = move(tree, view, MOVE_MOUNT_BENEATH) == 0;
	int rc = 0;

	if (umount2(view, UMOUNT_NOFOLLOW | MNT_DETACH) < 0)
		rc = errno == EINVAL
			     ? err_set(e, -ECANCELED, "%s: unmounted before it was ready", view)
			     : err_errno(e, "%s", view);
	else if (!is_there && move(tree, view, 0) < 0)
		rc = err_errno(e, "%s", view);
	close(tree);
	return rc;
}

bool remount_shrink_dcache(const char *view)
{
	int fs = (int)syscall(SYS_fspick, AT_FDCWD, view, FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT);
	bool is_done =
		fs >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0;

	if (fs >= 0)
		close(fs);
	return is_done;
}
