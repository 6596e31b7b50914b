/* SPDX-License-Identifier: MIT */
/*
 * flight: one question to storage, which all who want the answer wait for.
 *
 * It is made, found and waited for under its node's lock, and runs without. Who waits too long
 * leaves; the answer still goes into the cache when it comes.
 */
#ifndef CACHEFS_STORE_FLIGHT_H
#define CACHEFS_STORE_FLIGHT_H

#include <pthread.h>

#include "cachefs/store/cache.h"
#include "cachefs/store/pool.h"

#define CACHE_XATTRS 16 /* names of which it is kept that a file does not have them */

struct cache {
	struct storage storage;
	struct cache_opts opts; /* written before start */
	struct usage usage;
	struct cache_counts counts;
	struct nodes *nodes;
	struct chunks *chunks;
	struct pool *pool;
	struct cache_kernel kernel;           /* written before start */
	bool has_path_counts;                 /* written before start */
	_Atomic uint64_t kept_absent;         /* names of the root, by cache_may_keep_absent */
	_Atomic uint64_t passed_bytes;        /* of files that the kernel reads by itself */
	_Atomic bool cannot_pass;             /* as was told once */
	_Atomic bool is_ending;               /* what can be left undone, is */
	_Atomic(char *) xattrs[CACHE_XATTRS]; /* which; owned; then NULL */

	pthread_mutex_t keep_lock;
	pthread_cond_t keep_wake;
	pthread_t keeper;
	bool has_keeper;    /* who starts it and ends it has this */
	bool is_over;       /* this and below: under keep_lock; over the budget, somebody found */
	struct node *stale; /* files that the kernel is still to be told of; counted */
	int64_t asked_ns;   /* when the kernel was asked to forget all; the keeper's */
};

enum flight_kind {
	FLIGHT_ATTR = NODE_ATTR,
	FLIGHT_LIST = NODE_LIST,
	FLIGHT_LINK = NODE_LINK,
	FLIGHT_NAMES = NODE_NAMES,
	FLIGHT_BYTES = NODE_BYTES,
	FLIGHT_CHUNK,
	FLIGHT_XATTR,
	FLIGHT_SEEK,
	FLIGHT_STAT_FS,
};

struct flight {
	struct job job;
	struct cache *cache;
	struct node *node; /* counted */
	enum flight_kind kind;
	unsigned refs; /* this and the next: under the node's lock */
	bool is_under_way;
	bool done;
	int rc;
	bool was_absent;    /* ATTR: a negative answer was kept, or had run out */
	int64_t awaited_ns; /* when somebody began to wait for it; 0: nobody did */

	struct stat attr;        /* ATTR: the answer; CHUNK, BYTES: what the file must be */
	size_t max_entries;      /* LIST */
	struct dirlist *listing; /* LIST: the answer, until it is the node's; NAMES: which */
	struct chunk *chunk;     /* CHUNK: read by us until done */
	char *name;              /* XATTR: NULL: all names; owned */
	uint64_t offset;         /* BYTES, SEEK; NAMES: the first of the listing */
	size_t len;              /* BYTES; NAMES: how many */
	int whence;              /* SEEK */
	struct buf out;          /* LINK, BYTES, XATTR: the answer */
	uint64_t number;         /* SEEK: the answer */
	struct statvfs fs;       /* STAT_FS: the answer */
};

/* All under the lock of n. One reference, the caller's. NULL: out of memory. */
struct flight *flight_new(struct cache *c, struct node *n, enum flight_kind kind) MUST_CHECK;
void flight_unref(struct flight *f);

/* urgent: the caller waits for it next. From here on its answer comes for sure. */
int flight_start(struct flight *f, bool urgent) MUST_CHECK;

/* The flight that brings this part of n, joined or started; the caller's reference. NULL: *ret_rc
 * says why. */
struct flight *flight_join(struct cache *c, struct node *n, enum node_part part, size_t max_entries,
			   bool urgent, int *ret_rc) MUST_CHECK;

/*
 * Its rc, -ETIMEDOUT or -EINTR. The time is that of who came first: one who comes when it is over
 * does not wait, so that callers which the kernel lets in one by one are not kept for the sum.
 */
int flight_wait(struct flight *f) MUST_CHECK;
/* Is it so late that nobody waits any more? */
bool flight_is_late(const struct flight *f) MUST_CHECK;

/* The folder has a name that storage was slow to tell of. Who looks at all of them, one by one
 * in their order, finds the next ones asked for. No lock is held. */
void cache_names_ahead(struct cache *c, struct node *folder, const char *name);

/* Under the lock of n: it is there, and its attributes hold. */
bool cache_is_known(const struct node *n);

/* Of the same file, and in the same state. */
bool cache_is_same(const struct stat *a, const struct stat *b);

/* The file is not what it was: it is asked for again, and the kernel forgets it. */
void cache_note_stale(struct cache *c, struct node *n);

/* What became of the absence of n, for all and for n. No lock is needed. */
void cache_count_absent(struct cache *c, struct node *n, enum absent_event event);

void *cache_keeper(void *cache); /* a thread's whole life */

#endif
