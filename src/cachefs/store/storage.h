/* SPDX-License-Identifier: MIT */
/*
 * storage: the interface through which a cache reads the tree behind it, such as a local folder
 * or the parent node of an overlay.
 *
 * A request is submitted, and completed later by another thread, so that no requester waits for
 * storage. An implementation either has calls that may block, which a bounded pool of threads
 * makes, or takes requests itself (submit).
 *
 * Paths are relative to the tree's root: "" is the root, "a/b" a file below it. An implementation
 * never follows a symbolic link in a path. Several threads may call it at once. All calls return 0
 * or the storage's -errno.
 */
#ifndef CACHEFS_STORE_STORAGE_H
#define CACHEFS_STORE_STORAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "cachefs/rights/credentials.h"
#include "cachefs/store/dirlist.h"
#include "cachefs/store/pool.h"

struct storage_request;

/* What read_chunk read. */
struct storage_read {
	size_t len;         /* bytes; less than requested only at the end of the file */
	bool is_hole;       /* all of them are zeros of a hole: nothing was written to memory */
	bool has_our_clock; /* the file system is on a disk of this machine: its times are ours */
	/* The file's attributes before and after it was read, through the same descriptor; st_ino
	 * as of lookup. */
	struct stat before, after;
};

struct storage_ops {
	/* st_ino is unique in the whole tree, also where it spans several devices. */
	int (*lookup)(void *self, const char *path, struct stat *ret);

	/*
	 * Looks up count names of the folder at path, starting at the index from: ret[i] and
	 * ret_rc[i] are the result of each. Slow storage may stop early, after *ret_count names,
	 * because no process has requested these attributes yet.
	 */
	int (*lookup_names)(void *self, const char *path, const struct dirlist *names, size_t from,
			    size_t count, struct stat *ret, int *ret_rc, size_t *ret_count);

	/* At most max_entries names, else -E2BIG. The caller owns *ret. */
	int (*list)(void *self, const char *path, size_t max_entries, struct dirlist **ret);

	/*
	 * Reads into[0..len) from offset. same: the attributes that lookup returned; -ESTALE when
	 * the file was replaced or changed since.
	 */
	int (*read_chunk)(void *self, const char *path, const struct stat *same, uint64_t offset,
			  void *into, size_t len, struct storage_read *ret);

	int (*read_link)(void *self, const char *path, struct buf *ret);

	/* The value; or, when name is NULL, all names, each followed by a NUL. */
	int (*xattr)(void *self, const char *path, const char *name, struct buf *ret);

	/* lseek(2) with SEEK_DATA or SEEK_HOLE. */
	int (*seek)(void *self, const char *path, uint64_t offset, int whence, uint64_t *ret);

	int (*stat_fs)(void *self, const char *path, struct statvfs *ret);

	/*
	 * May this thread's file-system user do that with the file (R_OK, W_OK and X_OK of
	 * access(2))? same: what lookup returned; -ESTALE when another file has the path now.
	 */
	int (*access)(void *self, const char *path, const struct stat *same, int wanted);

	/*
	 * NULL: a thread of the pool makes the calls above, which may block. Else takes the
	 * request, sets its reply and rc, and calls complete() once, later, from another thread.
	 * It must not block. STORAGE_BY_POOL: it was not taken, the calls above are made for it;
	 * -errno: neither.
	 */
	int (*submit)(void *self, struct storage_request *r, bool high_priority);
#define STORAGE_BY_POOL 1
};

struct storage {
	const struct storage_ops *ops;
	void *self;
};

enum storage_kind {
	STORAGE_LOOKUP,
	STORAGE_LOOKUP_NAMES,
	STORAGE_LIST,
	STORAGE_READ,
	STORAGE_READ_LINK,
	STORAGE_XATTR,
	STORAGE_SEEK,
	STORAGE_STAT_FS,
	STORAGE_ACCESS,
};

struct storage_counts {
	_Atomic uint64_t calls;
	_Atomic uint64_t failures;   /* calls that failed with EIO, EACCES and the like */
	_Atomic uint64_t timeouts;   /* callers that waited longer than the storage timeout */
	_Atomic uint64_t interrupts; /* callers that were killed while they waited */
};

/* Where requests go. Written before start. */
struct storage_queue {
	struct storage storage;
	struct pool *pool; /* makes the calls that may block */
	struct storage_counts *counts;
};

/* One request and its reply. The requester owns it, except from storage_submit to complete(). */
struct storage_request {
	struct job job; /* the pool's */
	struct storage_queue *queue;
	void *requester;
	enum storage_kind kind;
	struct buf path; /* NUL-terminated; owned */
	/* Who asks; holds a reference. A call that storage refuses to us is made again in this
	 * user's name, ACCESS is at once. NULL: the call is made in our own name only. */
	struct credentials *who;
	struct stat attr;         /* LOOKUP: the reply; READ, ACCESS: what the file must still have
				   */
	bool is_fresh;            /* the reply must be storage's own, of now: no other node's */
	struct dirlist *listing;  /* LIST: the reply; LOOKUP_NAMES: the names; holds a reference */
	size_t max_entries;       /* LIST */
	char *name;               /* XATTR; owned; NULL: all names */
	uint64_t offset;          /* READ, SEEK; LOOKUP_NAMES: the index of the first name */
	size_t len;               /* READ; LOOKUP_NAMES: how many */
	int whence;               /* SEEK */
	int wanted;               /* ACCESS */
	char *into;               /* READ: [len]; borrowed */
	struct storage_read read; /* READ: the reply */
	size_t done;              /* LOOKUP_NAMES, and LIST where that came with attributes: the
				     names looked up, from offset on */
	struct stat *attrs;       /* LOOKUP_NAMES: the replies, [done]; owned */
	int *codes;               /* the same: 0 or -errno; owned */
	struct buf out;           /* READ_LINK, XATTR: the reply */
	uint64_t number;          /* SEEK: the reply */
	struct statvfs fs;        /* STAT_FS: the reply */

	/* Does anybody still wait for the reply? Called right before storage is. */
	bool (*is_needed)(struct storage_request *r);
	/* LOOKUP: may the reply be of a file that is being written to at this moment? Then storage
	 * is asked again, for a second at most. */
	bool (*is_unsettled)(const struct storage_request *r);
	/* Called once, with the reply. No lock is held. */
	void (*complete)(struct storage_request *r);
	int rc;          /* 0, or the storage's -errno */
	bool is_skipped; /* storage was not called, as it hangs, or nobody waits; rc is -EIO */
	int64_t took_ns; /* in storage */
	int64_t age_ns;  /* since storage read it for another node; 0: it was read for us */
};

/*
 * device: of the file system that the request concerns; 0: not known. high_priority: a process
 * waits for it. -errno: it was not taken: -EIO when too many calls to that file system hang,
 * -EAGAIN when no thread could be started. It never blocks on storage.
 */
int storage_submit(struct storage_queue *q, struct storage_request *r, dev_t device,
		   bool high_priority) MUST_CHECK;
/* The same, by a thread of the pool, also where storage could take it. */
int storage_submit_to_pool(struct storage_queue *q, struct storage_request *r, dev_t device,
			   bool high_priority) MUST_CHECK;
/* Did storage refuse it, so that another user's credentials may help? */
bool storage_is_refused(const struct storage_request *r) MUST_CHECK;
void storage_request_fini(struct storage_request *r);

#endif
