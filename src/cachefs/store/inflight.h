/* SPDX-License-Identifier: MIT */
/*
 * inflight: one request to storage for a node, shared by all waiters for its reply.
 *
 * It is created, found and waited for under its node's lock. A waiter that times out or is killed
 * stops waiting; the reply is still cached when it arrives.
 */
#ifndef CACHEFS_STORE_INFLIGHT_H
#define CACHEFS_STORE_INFLIGHT_H

#include "cachefs/store/chunks.h"
#include "cachefs/store/node.h"
#include "cachefs/store/storage.h"
#include "cachefs/store/waiter.h"

struct inflight;

/* What all requests of a cache share. Written before the first request. */
struct inflight_env {
	struct storage_queue queue;
	struct nodes *nodes;
	struct waiters *waiters;
	struct server_clocks *clocks;

	void *context; /* of the next three */
	/* Stores f->rc and the reply in the cache. Under the node's lock. */
	void (*complete)(struct inflight *f);
	/* LOOKUP_NAMES: stores the attributes of name [i] of the request. No lock is held. */
	void (*complete_name)(struct inflight *f, size_t i, const struct stat *attr);
	/* The request has completed; its waiters are resumed next. No lock is held. */
	void (*completed)(struct inflight *f);
};

struct inflight {
	struct awaited awaited;         /* the first member */
	struct storage_request request; /* storage's until done */
	struct inflight_env *env;
	struct node *node;      /* the awaited's */
	struct chunk *chunk;    /* READ into a chunk: it has us as a reader; NULL: uncached data */
	struct stat before;     /* the node's attributes when it started */
	int rc;                 /* when it is done: 0 or -errno */
	bool is_recheck;        /* READ: of data that was read before; see recheck.h */
	bool is_early;          /* READ, when it is done: the data is provisional */
	uint64_t hash;          /* when it is one of both: of the data */
	struct witness witness; /* READ, when it is done: of what was read */
	bool was_negative;      /* LOOKUP: there was a negative entry, or an expired one. Under the
				   node's lock */
};

/* With one reference, the caller's. NULL: out of memory. Under the node's lock. */
struct inflight *inflight_new(struct inflight_env *env, struct node *n,
			      enum storage_kind kind) MUST_CHECK;
struct inflight *inflight_ref(struct inflight *f); /* needs no lock, as the next */
void inflight_unref(struct inflight *f);

/* All below: under the lock of the node. */

/* w: the waiter that parks next, in whose name storage is asked; NULL: nobody waits for it. 0, or
 * -errno: it will not complete. */
int inflight_start(struct inflight *f, const struct waiter *w) MUST_CHECK;

/* The request for this part of n, joined or started, with a reference. NULL: *ret_rc has the
 * reason. max_entries: of NODE_LIST. */
struct inflight *inflight_join(struct inflight_env *env, struct node *n, enum node_part part,
			       size_t max_entries, const struct waiter *w, int *ret_rc) MUST_CHECK;

/* Parks w at f, which the caller has referenced, and drops that reference. CACHE_PARKED or -errno;
 * the timeout runs from the first waiter, and a later one does not wait at all after it: so callers
 * that the kernel lets in one by one do not add up their timeouts. */
int inflight_park(struct inflight *f, struct waiter *w) MUST_CHECK;
bool inflight_is_late(const struct inflight *f) MUST_CHECK; /* is the timeout over? */

/* Of a reply that has just arrived: how long ago storage read it, at most. Needs no lock. */
int64_t inflight_age(const struct inflight *f) MUST_CHECK;

/* That storage refused a call made in another name says nothing to w: such replies are left out. */

/* The latest reply that w waited for; borrowed from w. NULL: none. */
struct inflight *inflight_last_reply(const struct waiter *w) MUST_CHECK;
/* The latest reply that w waited for, of this kind and node; borrowed from w. NULL: none. */
struct inflight *inflight_reply(const struct waiter *w, const struct node *n,
				enum storage_kind kind) MUST_CHECK;
/* The same of a chunk. */
struct inflight *inflight_chunk_reply(const struct waiter *w, const struct node *n,
				      uint64_t index) MUST_CHECK;

#endif
