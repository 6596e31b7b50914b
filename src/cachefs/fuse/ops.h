/* SPDX-License-Identifier: MIT */
/* ops: what the kernel asks of a mounted cache, answered from the cache. */
#ifndef CACHEFS_FUSE_OPS_H
#define CACHEFS_FUSE_OPS_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

#include "cachefs/profile/metrics.h"
#include "cachefs/profile/profiling.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/prefetch.h"

#define OPS_MAX_READ (1 << 20) /* bytes of one request of the kernel; also a mount option */

/* The userdata of the session. All written before start. */
struct ops_mount {
	struct cache *cache;
	struct metrics *metrics;
	struct prefetch *prefetch; /* NULL: none */
	struct profiling *profiling;
	double lifetime_s;   /* of attributes that the kernel keeps; 0: it keeps none */
	double names_s;      /* the same of the names of what is there */
	bool is_exact;       /* every call comes to us */
	bool checks_access;  /* we do, the kernel does not */
	bool checks_search;  /* of folders, too: storage lets us, but not all who ask */
	bool owns_root;      /* it is shown as our user's */
	bool is_fixed;       /* the tree does not change */
	_Atomic pid_t mover; /* the thread to which each name in the root is the root; 0: none */
	_Atomic bool passes; /* files that are here to the kernel; written before the first open */
	void (*agreed)(void *); /* the kernel has; called once, by any thread */
	void *context;
};

extern const struct fuse_lowlevel_ops ops_table;

#endif
