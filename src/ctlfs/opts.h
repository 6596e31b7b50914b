/* SPDX-License-Identifier: MIT */
/* opts: how the control files are mounted and what their sessions sample. */
#ifndef CTLFS_OPTS_H
#define CTLFS_OPTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "ctlfs/snapshot.h"
#include "sample/tracer.h"

struct ctlfs_opts {
	const char *mount;   /* the mount point */
	const char *options; /* of mount, "a,b=c"; NULL: none */
	bool has_group;
	gid_t group; /* members may use the files, too */
	enum tracer_event event;
	snapshot_namer *name;
	void (*console)(const char *line); /* gets lines of kptrace as they come; NULL: none */
	int (*ready)(void *context, struct err *e); /* called when mounted */
	void *context;
};

#endif
