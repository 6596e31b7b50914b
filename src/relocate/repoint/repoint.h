/* SPDX-License-Identifier: MIT */
/*
 * shift: points everything of a held job from OLD to NEW, by calls made inside it.
 *
 * Descriptors keep number, flags, close-on-exec, position and sharing; mappings keep address and
 * protection; the files of NEW are already complete. The old ones are kept until commit, so until
 * then everything can be undone. Rows with stays are not touched.
 *
 * Source: ../shared/spec/relocate.md 2.3 to 2.10 and 2.12.
 */
#ifndef RELOCATE_REPOINT_REPOINT_H
#define RELOCATE_REPOINT_REPOINT_H

#include "base/err.h"
#include "base/macros.h"
#include "inject/freeze.h"
#include "relocate/inventory/inventory.h"
#include "relocate/inventory/top_dir.h"

struct repoint;

/* While the job runs: the tables of descriptors of s get the size that repoint_begin() will need.
 * What is not there then is made in the pause. -EBUSY: a thread does not stop. */
int repoint_grow_fd_tables(const struct reloc_inventory *s, struct err *e) MUST_CHECK;

/* s was taken with is_frozen and has no RELOC_BLOCKS; borrowed until commit or undo. On failure
 * all has been put back. */
int repoint_begin(struct repoint **ret, struct freeze *h, const struct reloc_inventory *s,
		  const struct top_dir *old_dir, const struct top_dir *new_dir,
		  struct err *e) MUST_CHECK;

/* Every descriptor, mapping and directory is on NEW with the same flags, position, sharing and
 * addresses, and nothing else changed. */
int repoint_verify(struct repoint *rp, struct err *e) MUST_CHECK;

/* Closes the kept ones, takes POSIX locks; frees sh. What still can fail (a lock) is -errno with
 * the reason; the move stands. */
int repoint_commit(struct repoint *rp, struct err *e) MUST_CHECK;

/* The job is held, and what it watches had no events: those of our own copying are taken away. */
int repoint_drain_inotify(const struct reloc_inventory *s, struct err *e) MUST_CHECK;

/* Puts everything back on OLD; frees sh. Fails only when the job could not be put back whole. */
int repoint_undo(struct repoint *rp, struct err *e) MUST_CHECK;

#endif
