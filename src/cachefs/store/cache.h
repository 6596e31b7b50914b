/* SPDX-License-Identifier: MIT */
/*
 * cache: a storage as seen through memory. What was found is not asked for again; what several
 * ask for at once is asked for once; what takes longer than the storage timeout fails.
 *
 * Nodes that a call is given must be counted (by the kernel's lookups, for example). All calls
 * may come from any thread, and return 0 or -errno: what storage said, -ETIMEDOUT when it said
 * nothing in time, -EINTR when the caller gave up, -ESTALE when a file changed under the cache,
 * -ENOMEM.
 */
#ifndef CACHEFS_STORE_CACHE_H
#define CACHEFS_STORE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cachefs/store/chunks.h"
#include "cachefs/store/node.h"
#include "cachefs/store/storage.h"
#include "cachefs/store/usage.h"

#define CACHE_FOR_EVER INT64_MAX

struct cache_opts {
	uint64_t budget_bytes;   /* of all tables together */
	uint64_t max_file_bytes; /* files of so many bytes and more are not kept; 0: all are */
	int64_t lifetime_ns;     /* then storage is asked again; CACHE_FOR_EVER */
	int64_t absent_ns;       /* a name is not there, where the folder's names are not known */
	int64_t timeout_ns;      /* of storage */
	unsigned max_threads;    /* that wait for storage */
	bool passes;             /* files may be passed to the kernel: passing.h */
};

/* How often what happened since the start. */
struct cache_counts {
	_Atomic uint64_t storage_calls; /* that were made */
	_Atomic uint64_t failures;      /* of them: EIO, EACCES and the like */
	_Atomic uint64_t timeouts;      /* of callers that waited too long */
	_Atomic uint64_t interrupts;    /* of callers that gave up */
	_Atomic uint64_t stale;         /* files that changed under the cache */
	_Atomic uint64_t absent[ABSENT_EVENTS];
};

/* Between the cache and the kernel. */
struct cache_kernel {
	/* What it must be told; by a thread of the cache's own, with no lock held. First: to forget
	 * all names that nobody uses; false: we may not. A name that is forgotten is as if it were
	 * deleted: whose place it is has none any more. Of one that is in doubt it asks again. */
	bool (*forget_unused)(void *context);
	void (*forget_name)(void *context, uint64_t parent, const char *name);
	void (*doubt_name)(void *context, uint64_t parent, const char *name);
	void (*forget_file)(void *context, uint64_t node); /* its data and attributes */

	/* By the thread of a caller, with a lock held: it is going to wait for storage; nobody
	 * waits for its answer any more, because the caller is being ended. */
	void (*will_wait)(void);
	bool (*gives_up)(void);

	/* By such a thread: may it ask storage itself? It is looked after until end, which says
	 * 0, or what its caller was told meanwhile: -ETIMEDOUT, -EINTR. NULL: no. */
	bool (*begin_storage)(void);
	int (*end_storage)(void);
	void *context;
	int device; /* of FUSE */
};

struct cache;

int cache_open(struct storage storage, const struct cache_opts *o, struct cache **ret,
	       struct err *e) MUST_CHECK;
/* No request is under way. False: storage hangs, and the cache stays as it is. */
bool cache_close(struct cache *c);

/* Starts the thread that keeps to the budget, and ends it: the kernel is told nothing any more. */
int cache_keep(struct cache *c, struct cache_kernel kernel, struct err *e) MUST_CHECK;
void cache_stop_keeping(struct cache *c);

struct node *cache_root(struct cache *c);
struct usage *cache_usage(struct cache *c);
struct cache_counts *cache_counts(struct cache *c);

/* From here on what is asked of paths is counted. Call before other threads use c. */
void cache_keep_counts(struct cache *c);
/* NULL: they are not kept, or out of memory. */
struct path_counts *cache_path_counts(struct cache *c, struct node *n);
/* The same of a name that was looked up in vain. */
void cache_count_name(struct cache *c, struct node *parent, const char *name, int64_t ns,
		      enum metrics_result result);
/* Nothing is known any more, by us and the kernel, but for the paths that are counted if
 * keeps_counts; requests go on. Not by a thread that answers the kernel. -ENOMEM: some things are.
 */
int cache_clear(struct cache *c, bool keeps_counts) MUST_CHECK;
/* Is the budget spent? What comes now had better not stay. */
bool cache_is_full(struct cache *c);
/* Wakes the keeper when there is too much. No lock is needed. */
void cache_check_budget(struct cache *c);
/* As nodes_visit. */
int cache_visit(struct cache *c, void (*visit)(void *context, struct node *n),
		void *context) MUST_CHECK;

/*
 * 0: *ret is counted once for the caller, *ret_attr holds. Else *ret_absent_ns says for how long
 * -ENOENT holds (0: not at all).
 */
int cache_lookup(struct cache *c, struct node *parent, const char *name, struct node **ret,
		 struct stat *ret_attr, int64_t *ret_absent_ns) MUST_CHECK;

/* May the kernel keep that the name is absent, so that cache_clear can make it forget? */
bool cache_may_keep_absent(struct cache *c, struct node *parent, const char *name) MUST_CHECK;

int cache_attr(struct cache *c, struct node *n, struct stat *ret) MUST_CHECK;
/* *ret is counted. from: what the caller has read of it, until it has all; kept for it so long. */
int cache_list(struct cache *c, struct node *n, size_t from, struct dirlist **ret) MUST_CHECK;
/*
 * What cache_lookup says of names [from, from + count) of n's listing, asked for together: ret[i]
 * counted once for the caller, with ret_attr[i]; NULL: not known without waiting for each, or the
 * budget is spent.
 */
void cache_lookup_names(struct cache *c, struct node *n, struct dirlist *names, size_t from,
			size_t count, struct node **ret, struct stat *ret_attr);

int cache_link(struct cache *c, struct node *n, struct buf *ret) MUST_CHECK;

/* Bytes of a file: up to CACHE_SPANS pieces of chunks. */
#define CACHE_SPANS 3
struct cache_data {
	struct chunk *chunks[CACHE_SPANS]; /* [count] */
	const char *at[CACHE_SPANS];       /* [len] bytes each; borrowed from the chunks */
	size_t len[CACHE_SPANS];
	size_t count;
	struct buf bytes; /* of a file that is not kept, instead of chunks */
};

/* len: at most 2 * CHUNK_BYTES. Less comes at the end of the file. */
int cache_read(struct cache *c, struct node *n, uint64_t offset, size_t len,
	       struct cache_data *ret) MUST_CHECK;
void cache_data_fini(struct cache_data *data);

/* name NULL: all names, a NUL behind each. Kept is only what a file does not have. */
int cache_xattr(struct cache *c, struct node *n, const char *name, struct buf *ret) MUST_CHECK;
int cache_seek(struct cache *c, struct node *n, uint64_t offset, int whence,
	       uint64_t *ret) MUST_CHECK;
int cache_stat_fs(struct cache *c, struct node *n, struct statvfs *ret) MUST_CHECK;

#endif
