/* SPDX-License-Identifier: MIT */
/* ops_mount: what the operations of one mount share, and its nodes. */
#ifndef CACHEFS_FUSE_OPS_MOUNT_H
#define CACHEFS_FUSE_OPS_MOUNT_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

#include "cachefs/profile/metrics.h"
#include "cachefs/profile/profiling.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/prefetch.h"

#define OPS_MAX_READ (1 << 20) /* bytes of one read request; also a mount option */

/* The userdata of the session. All is written before start. */
struct ops_mount {
	struct cache *cache;
	struct metrics *metrics;
	struct prefetch *prefetch; /* NULL: none */
	struct profiling *profiling;
	double attr_timeout_s;  /* how long the kernel caches attributes; 0: not */
	double entry_timeout_s; /* the same for dentries of files that exist */
	bool is_exact;          /* the kernel sends a request for every call */
	bool checks_access;     /* instead of the kernel */
	bool checks_search;     /* and of folders, where storage admits us but not every caller */
	bool asks_rights;       /* all of that is asked of storage, in the caller's name */
	bool owns_root;         /* the root's owner is reported as our user */
	bool is_immutable;      /* replies never expire */
	bool is_writable;       /* not mounted read-only: we refuse changes; see ops_changes.h */
	_Atomic pid_t
		root_mover; /* the thread for which each name in the root is the root; 0: none */
	_Atomic bool passthrough; /* written before the first open */
	void (*on_init)(void *);  /* after FUSE_INIT; called once, by any thread */
	void *context;
};

struct node *ops_node_of(const struct ops_mount *m, fuse_ino_t ino);

/* Seconds that the kernel may keep a reply which is valid for another ttl_ns; at most max_s. */
double ops_timeout(double max_s, int64_t ttl_ns);

/* FUSE_FORGET: the kernel drops count lookups. */
void ops_forget(const struct ops_mount *m, fuse_ino_t ino, uint64_t count);

#endif
