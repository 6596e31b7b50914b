/* SPDX-License-Identifier: MIT */
/* ops_control: serves the ioctls of control.h. */
#ifndef CACHEFS_FUSE_OPS_CONTROL_H
#define CACHEFS_FUSE_OPS_CONTROL_H

#include <fuse_lowlevel.h>

#include "cachefs/profile/profiling.h"
#include "cachefs/store/node.h"

/* Replies to the request, at once or by the profiling thread. n: the file of the ioctl. */
void ops_control(fuse_req_t req, struct profiling *p, struct node *n, unsigned number);

#endif
