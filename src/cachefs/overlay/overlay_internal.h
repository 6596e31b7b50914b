/* SPDX-License-Identifier: MIT */
/* overlay_internal: what the parts of the overlay share: overlay.c requests, overlay_serve.c
 * answers other nodes, overlay_read.c reads storage for them. */
#ifndef CACHEFS_OVERLAY_OVERLAY_INTERNAL_H
#define CACHEFS_OVERLAY_OVERLAY_INTERNAL_H

#include <pthread.h>

#include "base/buf.h"
#include "cachefs/overlay/overlay.h"
#include "cachefs/overlay/xattr_table.h"

#define OVERLAY_PASSED 8

/* A chunk that passed through while a request of this node for it was on its way to the node's
 * thread, where it finds it. */
struct passed_chunk {
	struct buf path; /* of the key; owned */
	struct file_identity identity;
	uint32_t index;
	struct buf bytes; /* empty: zeros; owned */
	int64_t read_ns;  /* 0: none */
};

struct overlay {
	struct overlay_opts opts;
	struct local *local;
	struct storage storage; /* of local */
	struct shared *shared;
	char *prefix; /* of keys: the target without the first '/'; owned */
	struct cache *cache;
	pthread_mutex_t lock;
	struct cluster_node *node; /* NULL: not joined; under lock */

	/* Of the node's thread: what was lent to it last. */
	struct chunk *lent; /* has us as a reader; NULL: none */
	struct buf body, path;
	struct xattr_table *xattrs;
	struct passed_chunk passed[OVERLAY_PASSED];
	unsigned next_passed;
};

extern const struct cluster_node_ops overlay_ops;

/* The path of a storage that a key names, in copy; NULL: it is not below our target, not shared
 * here, or out of memory. */
const char *overlay_path(struct overlay *o, const struct wire_key *key, struct buf *copy);

void overlay_forget_passed(struct overlay *o);

/* Stops lending. */
void overlay_take_back(struct overlay *o);

/* Of cluster_node_ops. */
void overlay_read(void *self, struct cluster_read *r);

#endif
