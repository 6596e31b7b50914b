/* SPDX-License-Identifier: MIT */
/*
 * cache: a storage read through memory. Each reply of storage is cached, and concurrent requests
 * for the same thing become one call of storage.
 *
 * The caller must hold a reference on each node that it passes, such as one of the kernel's
 * lookups. Any thread may make any call, and none blocks on storage: calls with a waiter return
 * CACHE_PARKED when they need storage, and must be made again when the waiter is resumed; until
 * then the waiter belongs to the cache. Else they return 0 or -errno: the storage's, -EIO after the
 * storage timeout or while storage hangs, -EINTR when the caller was killed, -ESTALE when the file
 * changed under the cache, or -ENOMEM.
 */
#ifndef CACHEFS_STORE_CACHE_H
#define CACHEFS_STORE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cachefs/store/chunks.h"
#include "cachefs/store/node.h"
#include "cachefs/store/notifier.h"
#include "cachefs/store/storage.h"
#include "cachefs/store/usage.h"
#include "cachefs/store/waiter.h"

#define CACHE_FOREVER INT64_MAX

struct cache_opts {
	uint64_t budget_bytes;   /* of all tables together */
	uint64_t max_file_bytes; /* data of files of this size and above is not cached; 0: all is */
	int64_t ttl_ns;          /* how long a reply is valid, since its request; CACHE_FOREVER */
	int64_t negative_ttl_ns; /* the same of a negative entry in a folder that is not listed */
	int64_t timeout_ns;      /* of storage */
	unsigned max_threads;    /* that call one file system; see pool.h */
	bool passthrough;        /* files get backing files; see passthrough.h */
	bool asks_rights;        /* storage decides what a user may do; see cache_may */
};

/* Events since the start. */
struct cache_counts {
	struct storage_counts storage;
	_Atomic uint64_t stale; /* files that changed under the cache */
	_Atomic uint64_t negatives[NEGATIVE_EVENTS];
};

struct cache;

int cache_open(struct storage storage, const struct cache_opts *o, struct cache **ret,
	       struct err *e) MUST_CHECK;
/* No request is in flight. False: storage hangs, and the cache stays allocated. */
bool cache_close(struct cache *c);

/* Starts the threads that keep usage within the budget and notify the kernel. After stop, the
 * kernel gets no more notifications; requests must still be served until it returns. */
int cache_start_evictor(struct cache *c, struct cache_kernel kernel, struct err *e) MUST_CHECK;
void cache_stop_evictor(struct cache *c);

/*
 * Ends all waiting for storage, for the end of a view: every parked request is answered with
 * -ENOTCONN before this returns, and each later request that would wait for storage fails with it
 * at once. Hits are still served. It takes short locks only, never blocks on storage or the kernel,
 * and may be called by any thread, with no lock held, more than once.
 */
void cache_fail_requests(struct cache *c);
/* Storage calls that have run for longer than the timeout: threads that nothing can end. */
unsigned cache_hanging(struct cache *c);
/* Has a request been parked for that long? */
bool cache_has_waited(struct cache *c, int64_t ns);

struct node *cache_root(struct cache *c);
struct nodes *cache_nodes(struct cache *c);
struct usage *cache_usage(struct cache *c);
struct cache_counts *cache_counts(struct cache *c);
struct passthroughs *cache_passthroughs(struct cache *c);

/* Counts requests by path. Call it before other threads use c. */
void cache_enable_path_counts(struct cache *c);
/* NULL: counting is off, or out of memory. */
struct path_counts *cache_path_counts(struct cache *c, struct node *n);
/* Counts a lookup that failed, so that there may be no node. */
void cache_count_failed_lookup(struct cache *c, struct node *parent, const char *name, int64_t ns,
			       enum request_result result);
/*
 * Invalidates all that is cached, here and in the kernel, while requests go on. keeps_counts: the
 * counts by path stay. It waits for the notifier, so a thread that serves the kernel must not call
 * it. -ENOMEM: part of it was invalidated.
 */
int cache_clear(struct cache *c, bool keeps_counts) MUST_CHECK;
/* Is usage over the budget? */
bool cache_is_full(struct cache *c);
/* Wakes the evictor when usage is over the budget. Needs no lock. */
void cache_check_budget(struct cache *c);
/* See nodes_visit. */
int cache_visit(struct cache *c, void (*visit)(void *context, struct node *n),
		void *context) MUST_CHECK;

/* A waiter that serves a request of the kernel got a signal; see waiters_interrupt. */
void cache_interrupt(struct cache *c, struct waiter *w);

/*
 * 0: *ret has one more reference, the caller's, and *ret_attr is valid. 0 or -ENOENT: the reply may
 * be kept for *ret_ttl_ns: the rest of its time since storage was asked (0: not at all).
 */
int cache_lookup(struct cache *c, struct waiter *w, struct node *parent, const char *name,
		 struct node **ret, struct stat *ret_attr, int64_t *ret_ttl_ns) MUST_CHECK;

/* May the kernel cache this negative entry, so that cache_clear can still invalidate it? */
bool cache_may_keep_negative(struct cache *c, struct node *parent, const char *name) MUST_CHECK;

/* *ret_ttl_ns: as above. */
int cache_attr(struct cache *c, struct waiter *w, struct node *n, struct stat *ret,
	       int64_t *ret_ttl_ns) MUST_CHECK;
/* Its last known inode number; 0: there is none. */
uint64_t cache_number(struct cache *c, struct node *n);
/* *ret has a reference for the caller. from: the index the caller reads from. Until the caller has
 * read it to the end, the listing stays cached for LISTING_READ_NS. */
int cache_list(struct cache *c, struct waiter *w, struct node *n, size_t from,
	       struct dirlist **ret) MUST_CHECK;
/*
 * Looks up names [from, from + count) of n's listing in one request: ret[i], referenced for the
 * caller, ret_attr[i] and ret_ttl_ns[i]. ret[i] is NULL when it takes a request of its own, or the
 * budget is spent. 0 or CACHE_PARKED.
 */
int cache_lookup_names(struct cache *c, struct waiter *w, struct node *n, struct dirlist *names,
		       size_t from, size_t count, struct node **ret, struct stat *ret_attr,
		       int64_t *ret_ttl_ns) MUST_CHECK;

/* The kernel has forgotten n, which is detached: drops its data. */
void cache_drop_version(struct cache *c, struct node *n);

int cache_link(struct cache *c, struct waiter *w, struct node *n, struct buf *ret) MUST_CHECK;

/* Data of a file, in up to CACHE_SPANS spans of chunks. */
#define CACHE_SPANS 3
struct cache_data {
	struct chunk *chunks[CACHE_SPANS]; /* [count] */
	const char *at[CACHE_SPANS];       /* [len] bytes each; borrowed from the chunks */
	size_t len[CACHE_SPANS];
	size_t count;
	struct buf bytes; /* instead of chunks: uncached data */
};

/* len: at most 2 * CHUNK_BYTES. It returns less only at the end of the file. */
int cache_read(struct cache *c, struct waiter *w, struct node *n, uint64_t offset, size_t len,
	       struct cache_data *ret) MUST_CHECK;
void cache_data_fini(struct cache_data *data);

/* name NULL: all names, each followed by a NUL. Only the lack of an attribute is cached. */
int cache_xattr(struct cache *c, struct waiter *w, struct node *n, const char *name,
		struct buf *ret) MUST_CHECK;
int cache_seek(struct cache *c, struct waiter *w, struct node *n, uint64_t offset, int whence,
	       uint64_t *ret) MUST_CHECK;
int cache_stat_fs(struct cache *c, struct waiter *w, struct node *n,
		  struct statvfs *ret) MUST_CHECK;

bool cache_asks_rights(const struct cache *c);
/*
 * May w->who do that with n (R_OK, W_OK and X_OK of access(2))? -EACCES: no, or it is not known who
 * asks. Only with asks_rights. Storage is asked in that name once for each of n's versions, and the
 * answer is valid as long as other replies are.
 */
int cache_may(struct cache *c, struct waiter *w, struct node *n, int wanted) MUST_CHECK;

/*
 * Was the last request of w, in our name, refused to us as to anybody: because the modes of the
 * file, or of a folder above it, grant others nothing? Then the caller may set w->who, and make the
 * call again: those modes also keep from others what storage replies. Where modes do not explain
 * it, a reply to one user must not be cached for all.
 */
bool cache_was_refused(struct cache *c, const struct waiter *w) MUST_CHECK;

#endif
