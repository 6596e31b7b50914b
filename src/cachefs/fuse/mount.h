/* SPDX-License-Identifier: MIT */
/* mount: mounts a cached folder as a FUSE file system, and serves it until it is unmounted. */
#ifndef CACHEFS_FUSE_MOUNT_H
#define CACHEFS_FUSE_MOUNT_H

#include "cachefs/fuse/mount_opts.h"

/* Returns after the view is unmounted. SIGTERM, SIGINT and SIGHUP unmount it. */
int mount_run(const struct mount_opts *o, struct err *e) MUST_CHECK;

#endif
