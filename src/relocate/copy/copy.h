/* SPDX-License-Identifier: MIT */
/*
 * copy: copies the tree of OLD to NEW in passes, until little is left for the pause.
 *
 * It runs as root in trees that users own. So it follows no symbolic link and never leaves the
 * tree. Until copy_finish() the top directory of NEW belongs to root with mode 0700. copy_undo()
 * removes everything that the copy created. OLD is only read.
 */
#ifndef RELOCATE_COPY_COPY_H
#define RELOCATE_COPY_COPY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/inventory.h"
#include "relocate/inventory/top_dir.h"

struct copy;

struct copy_opts {
	uint64_t bandwidth; /* bytes per second while the job runs; 0: no limit */
	bool trusts_append; /* of append-only files, do not compare what was copied before */
	const volatile sig_atomic_t *stop; /* nonzero: stop with -EINTR; NULL: never */
	void (*progress)(void *self, uint64_t done_bytes, uint64_t total_bytes); /* may be NULL */
	void *progress_self;
};

/* What a pass did. */
struct copy_pass {
	uint64_t entries;    /* names visited */
	uint64_t files;      /* whose content was read */
	uint64_t read_bytes; /* of OLD */
	uint64_t written_bytes;
	uint64_t changed; /* files and names that differed from OLD */
	int64_t took_ns;
	int64_t fill_ns; /* of that: copying what was new or changed */
};

/* Would copy_open() fail? Changes nothing. */
int copy_check(const struct top_dir *old_dir, const struct top_dir *new_dir,
	       const struct reloc_inventory *s, uint64_t *ret_bytes, struct err *e) MUST_CHECK;

/* -ENOTEMPTY: NEW has content that is not LEFTOVERS_COPY. -ENOSPC: OLD, with the unlinked files of
 * s, does not fit. Copies opts. */
int copy_open(struct copy **ret, const struct top_dir *old_dir, const struct top_dir *new_dir,
	      const struct reloc_inventory *s, const struct copy_opts *opts,
	      struct err *e) MUST_CHECK;

enum copy_kind {
	COPY_PRECOPY, /* while the job runs */
	COPY_VERIFY,  /* the same, and compares every file with NEW, read again from its storage */
	COPY_FINAL,   /* the job is frozen: copy_final_walk(), copy_final_end() */
};

/* One pass over the tree and the unlinked files of s while the job runs. It copies what is new or
 * changed and removes what is gone. s was taken just before. */
int copy_pass_run(struct copy *c, const struct reloc_inventory *s, enum copy_kind kind,
		  struct copy_pass *ret, struct err *e) MUST_CHECK;

/* The final pass in two parts: the first may run during the scan of the frozen job; */
int copy_final_walk(struct copy *c, struct err *e) MUST_CHECK;
/* the second needs its result, s. Then NEW equals OLD as far as the job can see. */
int copy_final_end(struct copy *c, const struct reloc_inventory *s, struct copy_pass *ret,
		   struct err *e) MUST_CHECK;

/* For an OLD whose storage hangs (top_dir_open_dead()): copies nothing but what the job has open
 * and memory has. -ENOTEMPTY: NEW has content. */
int copy_open_cached(struct copy **ret, const struct top_dir *old_dir,
		     const struct top_dir *new_dir, const struct copy_opts *opts,
		     struct err *e) MUST_CHECK;
/* One pass. Marks what stays on OLD, with an obstacle. -ENODATA: everything stays. */
int copy_cached(struct copy *c, struct reloc_inventory *s, struct copy_pass *ret,
		struct err *e) MUST_CHECK;
/* As copy_finish(). */
int copy_finish_cached(struct copy *c, const struct reloc_inventory *s, struct err *e) MUST_CHECK;

/* From until_ns of CLOCK_MONOTONIC on, a pass or flush ends with -ETIME at its next file or block.
 * 0: no deadline. */
void copy_set_deadline(struct copy *c, int64_t until_ns);

/* Is OLD watched? Then the final pass visits only what changes from the last pass on. */
bool copy_is_watched(const struct copy *c);

/* Starts dirty tracking: from the next pass on the kernel reports which parts of the files of s
 * change. Then the final pass need not compare whole files that are open for writing. */
void copy_track_dirty(struct copy *c, const struct reloc_inventory *s);
/* Has the device of OLD written since? Then dirty tracking must start again. */
bool copy_tracking_is_stale(const struct copy *c);

/* Call before repoint_begin(). Sets owner, mode and times of NEW's top directory. The journal notes
 * that the job of s may be on NEW from now on. */
int copy_finish(struct copy *c, const struct reloc_inventory *s, struct err *e) MUST_CHECK;
/* Call after repoint_begin(). Sets append-only and immutable flags, and flushes them. */
int copy_set_late_flags(struct copy *c, struct err *e) MUST_CHECK;
/* Call after repoint_commit(). Removes from NEW what only the move needed. */
int copy_commit(struct copy *c, struct err *e) MUST_CHECK;

/* After the pause: closing a fanotify group waits until no CPU uses it, some 20 ms. */
void copy_end_watch(struct copy *c);
/* Flushes the file system of NEW, with what others wrote to it. */
int copy_sync(struct copy *c, struct err *e) MUST_CHECK;
/* Flushes only what was copied since. */
int copy_flush(struct copy *c, struct err *e) MUST_CHECK;

/* Removes everything that was created and restores NEW. */
int copy_undo(struct copy *c, struct err *e) MUST_CHECK;
/* The same for LEFTOVERS_COPY. */
int copy_remove_leftovers(const struct top_dir *new_dir, struct err *e) MUST_CHECK;
void copy_close(struct copy *c);

#endif
