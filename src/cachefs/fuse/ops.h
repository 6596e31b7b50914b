/* SPDX-License-Identifier: MIT */
/* ops: the low-level FUSE operations, served from the cache. */
#ifndef CACHEFS_FUSE_OPS_H
#define CACHEFS_FUSE_OPS_H

#include "cachefs/fuse/ops_mount.h"

extern const struct fuse_lowlevel_ops ops_table; /* of a session with struct ops_mount */

#endif
