/* SPDX-License-Identifier: MIT */
/*
 * copy: the tree of OLD in NEW, again and again until little is left to do.
 *
 * Made as root in a tree that others own, so nothing follows a symbolic link or leaves the tree.
 * NEW's top stays root's with mode 0700 until copy_finish(). Everything made is remembered
 * and removed by copy_undo(). OLD is only read.
 *
 * Source: ../shared/spec/relocate.md 2.7 and 2.11.
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
	uint64_t bandwidth; /* bytes a second while the job runs; 0: as fast as it goes */
	bool trusts_append; /* of a file that is only appended to, what was there is not compared */
	const volatile sig_atomic_t *stop; /* not 0: give up, -EINTR; NULL: never */
	void (*progress)(void *self, uint64_t done_bytes, uint64_t total_bytes); /* may be NULL */
	void *progress_self;
};

/* What a pass did. */
struct copy_pass {
	uint64_t entries;    /* looked at */
	uint64_t files;      /* whose content was looked into */
	uint64_t read_bytes; /* of OLD */
	uint64_t written_bytes;
	uint64_t changed; /* files and names that were not yet as in OLD */
	int64_t took_ns;
};

/* Would copy_open() fail? Changes nothing. */
int copy_check(const struct top_dir *old_dir, const struct top_dir *new_dir,
	       const struct reloc_inventory *s, uint64_t *ret_bytes, struct err *e) MUST_CHECK;

/* -ENOTEMPTY: NEW has something, which is no copy of OLD that was left (LEFTOVERS_COPY). -ENOSPC:
 * the files of OLD, and those of s that have no name, do not fit. opts is copied. */
int copy_open(struct copy **ret, const struct top_dir *old_dir, const struct top_dir *new_dir,
	      const struct reloc_inventory *s, const struct copy_opts *opts,
	      struct err *e) MUST_CHECK;

enum copy_kind {
	COPY_PRECOPY, /* while the job runs */
	COPY_VERIFY,  /* as well, and every file is read again from NEW's storage and compared */
	COPY_FINAL,   /* the job is stopped: copy_final_walk(), copy_final_end() */
};

/* One pass over the tree and the files of s without a name, while the job runs: what is new,
 * changed or gone since the last. s was taken just before. */
int copy_pass_run(struct copy *c, const struct reloc_inventory *s, enum copy_kind kind,
		  struct copy_pass *ret, struct err *e) MUST_CHECK;

/* The last pass, in two: what can be done while the job that was stopped is looked at; */
int copy_final_walk(struct copy *c, struct err *e) MUST_CHECK;
/* and the rest, by what was seen: s. Afterwards NEW equals OLD as far as the job can tell. */
int copy_final_end(struct copy *c, const struct reloc_inventory *s, struct copy_pass *ret,
		   struct err *e) MUST_CHECK;

/* From the next pass on, the parts of files of s that change are told by the kernel where it can,
 * so that the last pass need not compare what is open for writing as a whole. */
void copy_track_dirty(struct copy *c, const struct reloc_inventory *s);
/* It could be told, but the device of OLD wrote since: to be watched anew. */
bool copy_tracking_is_stale(const struct copy *c);

/* Before repoint_begin(): owner, mode and times of NEW's top; should we be killed, the job of s may
 * be on NEW. */
int copy_finish(struct copy *c, const struct reloc_inventory *s, struct err *e) MUST_CHECK;
/* After repoint_begin(): what may only be appended to, or not be changed, becomes so, on its
 * storage as well. */
int copy_set_late_flags(struct copy *c, struct err *e) MUST_CHECK;
/* After repoint_commit(): takes away what only the move needed in NEW. */
int copy_commit(struct copy *c, struct err *e) MUST_CHECK;
/* All of NEW is on its storage, and what others wrote to its file system. */
int copy_sync(struct copy *c, struct err *e) MUST_CHECK;
/* The same for what was copied since, and only that: as quick as the storage. */
int copy_flush(struct copy *c, struct err *e) MUST_CHECK;

/* Removes everything made; NEW is as it was. */
int copy_undo(struct copy *c, struct err *e) MUST_CHECK;
/* The same of LEFTOVERS_COPY. */
int copy_remove_leftovers(const struct top_dir *new_dir, struct err *e) MUST_CHECK;
void copy_close(struct copy *c);

#endif
