/* SPDX-License-Identifier: MIT */
/* mount_opts: what a mount is asked for. */
#ifndef CACHEFS_FUSE_MOUNT_OPTS_H
#define CACHEFS_FUSE_MOUNT_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cachefs/overlay/overlay.h"
#include "cachefs/profile/profiling.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/prefetch.h"

/* Who decides what a user may do in the view. */
enum mount_rights {
	RIGHTS_BY_ANY,     /* storage, where local_modes_tell says so, else modes */
	RIGHTS_BY_MODES,   /* mode bits and POSIX access lists, as the kernel reads them */
	RIGHTS_BY_STORAGE, /* it is asked in the user's name; see cache_may */
};

struct mount_opts {
	const char *target, *view; /* absolute, without symbolic links */
	struct cache_opts cache;
	bool is_exact;    /* the kernel caches no attributes, data or negative entries */
	bool is_writable; /* for Copper's scripts, see ops_changes.h; not with has_others */
	bool has_others;  /* FUSE's allow_other: any user the target admits may use the view */
	enum mount_rights rights;
	unsigned threads; /* that serve the kernel; 0: a few */
	struct prefetch_opts prefetch;
	const struct overlay_opts *overlay; /* NULL: this node reads the target alone */
	const char *launch;                 /* the name of a launch, for node_file.h; NULL: none */

	struct profiling_opts profiling;

	/* The view is ready, and the target replied after reply_ns (0: it did not). Called once, by
	 * any thread. */
	void (*ready)(void *context, int64_t reply_ns);
	void *context;
};

#endif
