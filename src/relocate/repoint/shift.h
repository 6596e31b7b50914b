/* SPDX-License-Identifier: MIT */
/*
 * shift: points everything of a held job from OLD to NEW, by calls made inside it.
 *
 * Descriptors keep number, flags, close-on-exec, position and sharing; mappings keep address and
 * protection; the files of NEW are already complete. The old ones are kept until commit, so until
 * then everything can be undone. Rows with is_left are not touched.
 *
 * Source: ../shared/spec/relocate.md 2.3 to 2.10 and 2.12.
 */
#ifndef RELOCATE_REPOINT_SHIFT_H
#define RELOCATE_REPOINT_SHIFT_H

#include "base/err.h"
#include "base/macros.h"
#include "inject/hold.h"
#include "relocate/inventory/survey.h"

struct shift;

/* While the job runs: the tables of descriptors of s get the size that shift_begin() will need.
 * What is not there then is made in the pause. -EBUSY: a thread does not stop. */
int shift_make_room(const struct survey *s, struct err *e) MUST_CHECK;

/* s was taken with is_stopped and has no RELOC_PREVENTS; borrowed until commit or undo. On failure
 * all has been put back. */
int shift_begin(struct shift **ret, struct hold *h, const struct survey *s,
		const struct reloc_place *old_place, const struct reloc_place *new_place,
		struct err *e) MUST_CHECK;

/* Every descriptor, mapping and directory is on NEW with the same flags, position, sharing and
 * addresses, and nothing else changed. */
int shift_verify(struct shift *sh, struct err *e) MUST_CHECK;

/* Closes the kept ones, takes POSIX locks; frees sh. What still can fail (a lock) is -errno with
 * the reason; the move stands. */
int shift_commit(struct shift *sh, struct err *e) MUST_CHECK;

/* The job is held, and what it watches had no events: those of our own copying are taken away. */
int shift_drain_watches(const struct survey *s, struct err *e) MUST_CHECK;

/* Puts everything back on OLD; frees sh. Fails only when the job could not be put back whole. */
int shift_undo(struct shift *sh, struct err *e) MUST_CHECK;

#endif
