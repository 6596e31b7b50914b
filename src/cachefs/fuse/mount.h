/* SPDX-License-Identifier: MIT */
/* mount: a cached folder as a file system, from mounting to unmounting. */
#ifndef CACHEFS_FUSE_MOUNT_H
#define CACHEFS_FUSE_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cachefs/profile/profiling.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/prefetch.h"

struct mount_opts {
	const char *target, *view; /* absolute, without links */
	struct cache_opts cache;
	bool is_exact;        /* the kernel keeps nothing */
	bool has_others;      /* all users may look, each at what the target lets them */
	unsigned max_threads; /* that answer the kernel */
	struct prefetch_opts prefetch;

	struct profiling_opts profiling;

	/* The view can be used, and the target answered after so long (0: it did not); called once,
	 * by any thread. */
	void (*ready)(void *context, int64_t answer_ns);
	void *context;
};

/* Returns when the view was unmounted, or at SIGTERM, SIGINT or SIGHUP, which unmount it. */
int mount_run(const struct mount_opts *o, struct err *e) MUST_CHECK;

/* When somebody still uses it, after a moment: */
enum mount_end {
	MOUNT_END_UNUSED, /* it stays, and e names them: -EBUSY */
	MOUNT_END_LAZY,   /* it goes from its place, and altogether when the last of them does */
	MOUNT_END_ALWAYS, /* it goes, and that is told: they get ENOTCONN */
};

/* view: absolute. Only what mount_run mounted, also when nobody serves it any more. */
int mount_end(const char *view, enum mount_end how, struct err *e) MUST_CHECK;

#endif
