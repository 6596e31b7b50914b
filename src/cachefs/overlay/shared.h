/* SPDX-License-Identifier: MIT */
/*
 * shared: which parts of a tree are the same on all nodes of a job, and names of file systems that
 * are the same there.
 *
 * By default these are the file systems that several machines mount at once (nfs, lustre, ...), by
 * type. Paths that the user calls shared are, too, without what is mounted below them. All else
 * belongs to one node: /proc, /tmp, local disks.
 *
 * Mounts are read again when they change. Any thread may call it. Source: proc(5), mountinfo.
 */
#ifndef CACHEFS_OVERLAY_SHARED_H
#define CACHEFS_OVERLAY_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

struct shared;

struct shared_opts {
	const char *target;       /* absolute; shared unless it is "/" */
	const char *const *paths; /* [count]: absolute; shared, too */
	size_t count;
	const char *mountinfo; /* NULL: of this process */
};

/* All is copied. */
int shared_open(const struct shared_opts *o, struct shared **ret, struct err *e) MUST_CHECK;
void shared_close(struct shared *s); /* NULL is allowed */

/* path: below the target, "" for it, without links. */
bool shared_has(struct shared *s, const char *path) MUST_CHECK;

/* Is anything mounted in this folder, or below it? Else all of it is shared if the folder is. */
bool shared_has_mounts(struct shared *s, const char *path) MUST_CHECK;

/* A hash of the type, source and root of the file system with this device, never 0. A device that
 * no mount has, such as a subvolume's, counts as the target's. */
uint64_t shared_fs(void *shared, dev_t device);

#endif
