/* SPDX-License-Identifier: MIT */
/*
 * inflight: one request to storage, shared by all callers that wait for its reply.
 *
 * It is created, found and waited for under its node's lock, and runs without the lock. A caller
 * that times out or is killed stops waiting; the reply is still cached when it arrives.
 */
#ifndef CACHEFS_STORE_INFLIGHT_H
#define CACHEFS_STORE_INFLIGHT_H

#include "cachefs/store/chunks.h"
#include "cachefs/store/node.h"
#include "cachefs/store/pool.h"
#include "cachefs/store/storage.h"

struct inflight;

/* The thread that serves a caller. Any of these may be NULL. */
struct inflight_hooks {
	/* The thread is about to wait for storage. Called with a node's lock held. */
	void (*will_wait)(void);
	/* Was the caller killed? Called with a node's lock held. */
	bool (*is_interrupted)(void);
	/* May the thread call storage itself? Then it is watched until end_storage, which returns
	 * 0, or what was replied to its caller meanwhile: -ETIMEDOUT, -EINTR. */
	bool (*begin_storage)(void);
	int (*end_storage)(void);
	/* The thread waited for storage. */
	void (*waited)(int64_t ns);
};

/* What all requests of a cache share. Written before the first request. */
struct inflight_env {
	struct storage storage;
	struct storage_counts *counts;
	struct nodes *nodes;
	struct pool *pool;
	int64_t timeout_ns;
	struct inflight_hooks hooks;

	void *context; /* of the next three */
	/* Stores f->rc and the reply in the cache. Under the node's lock. */
	void (*complete)(struct inflight *f);
	/* INFLIGHT_NAMES: stores the attributes of name [i] of the folder. No lock is held. */
	void (*complete_name)(struct inflight *f, size_t i, const struct stat *attr);
	/* A request has completed. No lock is held. */
	void (*completed)(void *context);
};

enum inflight_kind {
	INFLIGHT_ATTR = NODE_ATTR,
	INFLIGHT_LIST = NODE_LIST,
	INFLIGHT_LINK = NODE_LINK,
	INFLIGHT_NAMES = NODE_NAMES,
	INFLIGHT_BYTES = NODE_BYTES,
	INFLIGHT_CHUNK,
	INFLIGHT_XATTR,
	INFLIGHT_SEEK,
	INFLIGHT_STAT_FS,
};

struct inflight {
	struct job job;
	struct inflight_env *env;
	struct node *node; /* holds a reference */
	enum inflight_kind kind;
	unsigned refs; /* this and all below: under the node's lock */
	bool is_started;
	bool done;
	int rc;
	bool was_negative;     /* ATTR: there was a negative entry, or an expired one */
	int64_t wait_start_ns; /* when the first caller began to wait; 0: no caller waits */

	struct stat attr;        /* ATTR: the reply; CHUNK, BYTES: what the file must still have */
	size_t max_entries;      /* LIST */
	struct dirlist *listing; /* LIST: the reply, until the node has it; NAMES: the names */
	struct chunk *chunk;     /* CHUNK: read by us until done */
	char *name;              /* XATTR; owned; NULL: all names */
	uint64_t offset;         /* BYTES, SEEK; NAMES: index of the first name in the listing */
	size_t len;              /* BYTES; NAMES: how many */
	int whence;              /* SEEK */
	struct buf out;          /* LINK, BYTES, XATTR: the reply */
	uint64_t number;         /* SEEK: the reply */
	struct statvfs fs;       /* STAT_FS: the reply */
};

/* All below: under the lock of the node. */

/* With one reference, the caller's. NULL: out of memory. */
struct inflight *inflight_new(struct inflight_env *env, struct node *n,
			      enum inflight_kind kind) MUST_CHECK;
void inflight_unref(struct inflight *f);

/* is_awaited: the caller calls inflight_wait next. The request completes in any case. */
int inflight_start(struct inflight *f, bool is_awaited) MUST_CHECK;

/* The request for this part of n, joined or started, with a reference. NULL: *ret_rc has the
 * reason. */
struct inflight *inflight_join(struct inflight_env *env, struct node *n, enum node_part part,
			       size_t max_entries, bool is_awaited, int *ret_rc) MUST_CHECK;

/*
 * The request's rc, -ETIMEDOUT or -EINTR. The timeout runs from the first caller's wait, and a
 * later caller does not wait at all after it. So callers that the kernel lets in one by one do not
 * add up their timeouts.
 */
int inflight_wait(struct inflight *f) MUST_CHECK;
bool inflight_is_late(const struct inflight *f) MUST_CHECK; /* is the timeout over? */

#endif
