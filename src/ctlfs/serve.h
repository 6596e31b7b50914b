/* SPDX-License-Identifier: MIT */
/* serve: handles the FUSE requests. */
#ifndef CTLFS_SERVE_H
#define CTLFS_SERVE_H

#include <fuse_lowlevel.h>
#include <time.h>

#include "ctlfs/handles.h"
#include "ctlfs/nodes.h"
#include "ctlfs/opts.h"

#define SERVE_MAX_SESSIONS 32
#define SERVE_OWNER_SESSIONS 8 /* of these, for the owner of the mount alone */

struct server {
	const struct ctlfs_opts *opts; /* borrowed */
	struct ctlfs_state state;
	struct handles handles;
	uint64_t next_session; /* id */
	size_t session_count;
	int done_fd; /* of snapshots */
	struct timespec start;
};

/* The user data of its session is the server. */
extern const struct fuse_lowlevel_ops serve_ops;

#endif
