/* SPDX-License-Identifier: MIT */
/* mount: mounts a cached folder as a FUSE file system, and serves it until it is unmounted. */
#ifndef CACHEFS_FUSE_MOUNT_H
#define CACHEFS_FUSE_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cachefs/profile/profiling.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/prefetch.h"

struct mount_opts {
	const char *target, *view; /* absolute, without symbolic links */
	struct cache_opts cache;
	bool is_exact;    /* the kernel caches no attributes, data or negative entries */
	bool is_writable; /* for Copper's scripts, see ops_changes.h; not with has_others */
	bool has_others;  /* FUSE's allow_other: any user the target admits may use the view */
	unsigned threads; /* that serve the kernel; 0: a few */
	struct prefetch_opts prefetch;

	struct profiling_opts profiling;

	/* The view is ready, and the target replied after reply_ns (0: it did not). Called once, by
	 * any thread. */
	void (*ready)(void *context, int64_t reply_ns);
	void *context;
};

/* Returns after the view is unmounted. SIGTERM, SIGINT and SIGHUP unmount it. */
int mount_run(const struct mount_opts *o, struct err *e) MUST_CHECK;

#endif
