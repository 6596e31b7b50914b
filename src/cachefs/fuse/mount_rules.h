/* SPDX-License-Identifier: MIT */
/* mount_rules: what the options of a mount mean for its operations. */
#ifndef CACHEFS_FUSE_MOUNT_RULES_H
#define CACHEFS_FUSE_MOUNT_RULES_H

#include "cachefs/fuse/mount_opts.h"
#include "cachefs/fuse/ops_mount.h"
#include "cachefs/store/local.h"

/* Is storage asked what users may do? */
bool mount_rules_ask_storage(const struct mount_opts *o, const struct local *l);

/* The caller sets what comes from elsewhere. */
struct ops_mount mount_rules(const struct mount_opts *o, bool asks_rights);

#endif
