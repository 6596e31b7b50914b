/* SPDX-License-Identifier: MIT */
/* cache_internal: the cache itself, and what its source files call of one another. */
#ifndef CACHEFS_STORE_CACHE_INTERNAL_H
#define CACHEFS_STORE_CACHE_INTERNAL_H

#include <pthread.h>

#include "cachefs/memory/server_clocks.h"
#include "cachefs/rights/answers.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/inflight.h"
#include "cachefs/store/notifier.h"
#include "cachefs/store/passthrough.h"

#define CACHE_XATTRS 16 /* attribute names whose absence is cached, one bit each */

struct cache {
	struct cache_opts opts; /* written before start */
	struct inflight_env env;
	struct usage usage;
	struct cache_counts counts;
	struct nodes *nodes;
	struct chunks *chunks;
	struct server_clocks clocks;
	struct passthroughs passthroughs;
	struct answers *answers;    /* NULL: without asks_rights */
	struct cache_kernel kernel; /* written before start */
	struct notifier notifier;
	bool has_path_counts;                 /* written before start */
	_Atomic uint64_t kept_negatives;      /* entries that cache_may_keep_negative allowed */
	_Atomic bool is_ending;               /* work that can be skipped is skipped */
	_Atomic(char *) xattrs[CACHE_XATTRS]; /* the names; owned; NULL behind the last one */

	pthread_mutex_t evictor_lock;
	pthread_cond_t evictor_wake;
	pthread_t evictor;
	bool has_evictor;    /* owned by the thread that starts and stops it */
	bool is_over_budget; /* under evictor_lock */
	int64_t dropped_ns;  /* when the kernel last dropped unused dentries; the evictor's */
};

/* After a slow lookup of name: where lookups follow the order of the folder's listing, requests the
 * next names. No lock is held. */
void cache_lookup_ahead(struct cache *c, struct node *folder, const char *name);

/* CACHE_FOREVER, or the rest until then. */
int64_t cache_time_left(int64_t until_ns);

/* Under the lock of n: cache_attr. */
int cache_get_attr(struct cache *c, struct waiter *w, struct node *n, struct stat *ret,
		   int64_t *ret_ttl_ns) MUST_CHECK;

/* Under the lock of its node: starts a request whose reply is not cached, and parks w at it. */
int cache_fetch(struct inflight *f, struct waiter *w) MUST_CHECK;

/* Under the lock of n: are its attributes cached and valid? */
bool cache_is_known(const struct node *n);

/* Under the lock of n: in attributes of n for the kernel, the size of a file that grows. */
void cache_show_size(const struct node *n, struct stat *attr, int64_t *ttl_ns);

/* The same as cache_get_attr, without the cached ones: starts or joins a request. CACHE_PARKED or
 * -errno. */
int cache_fetch_attr(struct cache *c, struct waiter *w, struct node *n) MUST_CHECK;

/* Under the lock of n: reads its data again that is ready for that at now_ns; 0: the end of a file
 * that grew. See recheck.h. 0: none is left, or storage does not reply: what is cached is served
 * then; CACHE_PARKED; -ESTALE: it was another version. */
int cache_recheck(struct cache *c, struct waiter *w, struct node *n, int64_t now_ns) MUST_CHECK;

/* Are both of the same version of the same file: device, inode, ctime and size? Its mtime is no
 * part of that, because a program can set it back. */
bool cache_is_same(const struct stat *a, const struct stat *b);

/* Under the lock of n: is it an old version of a file? Processes that have it open read what is
 * cached of it, and get ESTALE for the rest. */
bool cache_keeps_version(const struct node *n);

/* The file changed: invalidates n here and, by the notifier, in the kernel; of an old version only
 * its entry in the kernel. Under the lock of n. */
void cache_note_stale(struct cache *c, struct node *n);

/* Counts an event of a negative entry, in total and for n. Needs no lock. */
void cache_count_negative(struct cache *c, struct node *n, enum negative_event event);

/* Under the lock of its node: a reply to a request for an extended attribute. */
void cache_complete_xattr(struct cache *c, struct inflight *f);

/* The same of what a user may do. */
void cache_complete_rights(struct cache *c, struct inflight *f);

/* Under the lock of n: what storage said of its attributes, at read_ns or later. Returns rc, or
 * -ESTALE when another file, or version, has the name. */
int cache_store_attr(struct cache *c, struct node *n, int64_t read_ns, int rc,
		     const struct stat *attr) MUST_CHECK;
/* The same of its listing. */
void cache_store_list(struct cache *c, struct node *n, int64_t read_ns, struct dirlist *listing);

/* Callbacks of struct inflight_env. */
void cache_complete(struct inflight *f);
void cache_complete_name(struct inflight *f, size_t i, const struct stat *attr);
void cache_completed(struct inflight *f);

void *cache_evictor(void *cache); /* the evictor's thread function */

#endif
