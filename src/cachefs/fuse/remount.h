/* SPDX-License-Identifier: MIT */
/*
 * remount: what only root can do with a mounted view: replace the mount's root by a folder of it,
 * and drop the kernel's dentries.
 *
 * Linux caches no access list of a FUSE root, because it creates the root's inode before FUSE_INIT
 * enables access lists. So it requests the list at every path lookup by a user who does not own the
 * root. An inode created later has no such cost, even if it stands for the same folder.
 * Source: fuse_init_inode in fs/fuse/inode.c of Linux; __forget_cached_acl in fs/posix_acl.c, since
 * 6.6.148, 6.12.101, 6.18.42. open_tree(2), move_mount(2).
 */
#ifndef CACHEFS_FUSE_REMOUNT_H
#define CACHEFS_FUSE_REMOUNT_H

#include <stdbool.h>

#include "base/err.h"

/* A detached mount of view's folder of that name, which the calling thread looks up. Else -EPERM,
 * -ENOSYS (the kernel has no open_tree(2)) and others. */
int remount_clone(const char *view, const char *name) MUST_CHECK;

/* Takes over the descriptor: unmounts view, and mounts the folder there. Before Linux 6.5, the
 * folder below the view is seen for a moment. */
int remount_move(int tree, const char *view, struct err *e) MUST_CHECK;

/* Drops all unused dentries of the view, negative ones included. False: we have no permission to.
 * Source: reconfigure_super in fs/super.c of Linux. */
bool remount_shrink_dcache(const char *view);

#endif
