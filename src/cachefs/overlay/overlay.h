/* SPDX-License-Identifier: MIT */
/*
 * overlay: a storage that several nodes read together: shared files (shared.h) are requested from
 * other nodes of the job, and one of them reads the storage behind all; the rest is read here.
 *
 * It serves other nodes from the same cache that it is the storage of, and keeps there what passes
 * through. Keys of requests are absolute paths, so nodes with other targets get no wrong file.
 * Requests for data that the cache does not keep, and statfs(2), go to this node's own storage.
 */
#ifndef CACHEFS_OVERLAY_OVERLAY_H
#define CACHEFS_OVERLAY_OVERLAY_H

#include "cachefs/overlay/shared.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/local.h"
#include "cluster/node.h"

struct overlay;

struct overlay_opts {
	struct cluster_node_config node;
	struct shared_opts shared;
	int64_t ttl_ns; /* of cache_opts */
};

/* local: the storage here, which it makes name file systems by shared_fs(); borrowed. */
int overlay_open(const struct overlay_opts *o, struct local *local, struct overlay **ret,
		 struct err *e) MUST_CHECK;
/* After cache_close. NULL is allowed. */
void overlay_close(struct overlay *o);

struct storage overlay_storage(struct overlay *o);

/* Joins the other nodes, for the cache whose storage it is. Until then, all is read here. */
int overlay_join(struct overlay *o, struct cache *cache, struct err *e) MUST_CHECK;

/* Answers what is in flight, and leaves the other nodes. Before cache_close. */
void overlay_leave(struct overlay *o); /* NULL is allowed; more than once, too */

/* False: it has not joined, or has left. Any thread. */
bool overlay_statistics(struct overlay *o, struct cluster_statistics *ret);

#endif
