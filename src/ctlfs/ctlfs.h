/* SPDX-License-Identifier: MIT */
/*
 * ctlfs: the control files, a file system from which sampling is driven by reading and
 * writing. README below describes them as users see them.
 *
 * One thread does all but the naming of snapshots: it takes the requests of the kernel, the
 * records of the rings, and signals, as they come. A read that has to wait keeps its request
 * until there is something to answer it with, or it is interrupted; nothing else waits for it.
 *
 * Source: the files of Akaros' kprof device, kern/drivers/dev/kprof.c of July 2015.
 */
#ifndef CTLFS_CTLFS_H
#define CTLFS_CTLFS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "ctlfs/snapshot.h"
#include "sample/tracer.h"

struct ctlfs_opts {
	const char *mount;   /* the folder */
	const char *options; /* of mount, "a,b=c"; NULL: none */
	bool has_group;
	gid_t group; /* may use the files, too */
	enum tracer_event event;
	snapshot_namer *name;
	void (*console)(const char *line); /* lines of kptrace as they come; NULL: nobody */
	int (*ready)(void *context, struct err *e); /* all is mounted */
	void *context;
};

/* Until it is unmounted, or SIGINT, SIGTERM or SIGHUP comes; then nothing is left behind. */
int ctlfs_run(const struct ctlfs_opts *o, struct err *e) MUST_CHECK;

#endif
