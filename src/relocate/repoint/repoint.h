/* SPDX-License-Identifier: MIT */
/*
 * repoint: points everything of a frozen job from OLD to NEW, by system calls in its processes.
 *
 * Descriptors keep number, flags, close-on-exec, position and sharing; mappings keep address and
 * protection. The files of NEW must be complete. The old descriptors and mappings exist until the
 * commit, so until then everything can be undone. Rows of the inventory with stays are not touched.
 *
 * Source: dup(2), mremap(2), unix(7), kcmp(2).
 */
#ifndef RELOCATE_REPOINT_REPOINT_H
#define RELOCATE_REPOINT_REPOINT_H

#include "base/err.h"
#include "base/macros.h"
#include "inject/freeze.h"
#include "relocate/inventory/inventory.h"
#include "relocate/inventory/top_dir.h"

struct repoint;

/* Grows the descriptor tables of the running job to the size that repoint_begin() needs. A failure
 * only makes the pause longer, except -EBUSY: a thread does not stop. */
int repoint_grow_fd_tables(const struct reloc_inventory *s, struct err *e) MUST_CHECK;

/* Repoints the job. s: an inventory of the frozen job without RELOC_BLOCKS; borrowed until commit
 * or undo. On failure everything is undone. */
int repoint_begin(struct repoint **ret, struct freeze *h, const struct reloc_inventory *s,
		  const struct top_dir *old_dir, const struct top_dir *new_dir,
		  struct err *e) MUST_CHECK;

/* Checks that every descriptor, mapping and directory is on NEW with its flags, position, sharing
 * and address. */
int repoint_verify(struct repoint *rp, struct err *e) MUST_CHECK;

/* Closes the old descriptors and takes POSIX locks. -errno: a lock failed; the move stands. Then
 * repoint_free(), for which the job need not be frozen. */
int repoint_commit(struct repoint *rp, struct err *e) MUST_CHECK;
void repoint_free(struct repoint *rp); /* NULL is allowed */

/* Reads away the inotify events that our copy caused. The job is frozen and had no events before.
 */
int repoint_drain_inotify(const struct reloc_inventory *s, struct err *e) MUST_CHECK;

/* Puts everything back on OLD and frees rp. Fails only when that is not possible. */
int repoint_undo(struct repoint *rp, struct err *e) MUST_CHECK;

#endif
