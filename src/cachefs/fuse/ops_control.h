/* SPDX-License-Identifier: MIT */
/* ops_control: the ioctls of control.h, as requests of the kernel. */
#ifndef CACHEFS_FUSE_OPS_CONTROL_H
#define CACHEFS_FUSE_OPS_CONTROL_H

#include "cachefs/fuse/ops.h"

/* Answers the request, now or by another thread. n: the file it came by. */
void ops_control(fuse_req_t req, const struct ops_mount *m, struct node *n, unsigned number);

#endif
