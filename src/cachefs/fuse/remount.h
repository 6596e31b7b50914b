/* SPDX-License-Identifier: MIT */
/*
 * remount: what only root can do to a view that is mounted: have a folder of it in the place of
 * its root, have the kernel forget.
 *
 * A kernel of 2026 keeps no access list of the root of FUSE, which it made before it was told that
 * there are any: it asks at every path of those who do not own it. A folder of which it learns
 * later is spared that, also if it is the same one.
 * Source: fuse_init_inode in fs/fuse/inode.c of Linux; __forget_cached_acl in fs/posix_acl.c, since
 * 6.6.148, 6.12.101, 6.18.42. open_tree(2), move_mount(2).
 */
#ifndef CACHEFS_FUSE_REMOUNT_H
#define CACHEFS_FUSE_REMOUNT_H

#include <stdbool.h>

#include "base/err.h"

/* A mount of view's folder of that name, which is nowhere yet; looks it up by the calling thread.
 * Or -EPERM, -ENOSYS and others: who may not do so, a kernel that cannot. */
int remount_open(const char *view, const char *name) MUST_CHECK;

/* Takes the descriptor over. view is unmounted, and the folder mounted there. */
int remount_put(int tree, const char *view, struct err *e) MUST_CHECK;

/* All its names that nobody uses now, those of what is absent, too. False: we may not.
 * Source: reconfigure_super in fs/super.c of Linux. */
bool remount_forget_unused(const char *view);

#endif
