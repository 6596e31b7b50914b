/* SPDX-License-Identifier: MIT */
/*
 * connection: aborts the FUSE connection of a mounted view, so that every request on it fails.
 *
 * Nothing else ends a view whose daemon cannot exit: a thread in an invalidation waits for requests
 * of the same view, and keeps /dev/fuse open.
 * Source: Documentation/filesystems/fuse.rst of Linux, "Control filesystem".
 */
#ifndef CACHEFS_FUSE_CONNECTION_H
#define CACHEFS_FUSE_CONNECTION_H

#include <sys/types.h>

/* device: of the mount. A descriptor that stays bound to this connection, also after the kernel
 * gives the device number to another mount; -1: there is no fusectl file system here, and we may
 * not make one. */
int connection_open(dev_t device);

/* Pending requests fail with ECONNABORTED, later ones with ENOTCONN. -1 is allowed. */
void connection_abort(int connection);

#endif
