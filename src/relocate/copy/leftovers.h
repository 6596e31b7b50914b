/* SPDX-License-Identifier: MIT */
/* left: what a move that was killed has left in NEW, and what may be done with it. */
#ifndef RELOCATE_COPY_LEFTOVERS_H
#define RELOCATE_COPY_LEFTOVERS_H

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/top_dir.h"

enum leftovers {
	LEFTOVERS_NONE,
	LEFTOVERS_COPY,  /* a copy that nobody uses: may be gone on with, or removed */
	LEFTOVERS_MOVED, /* the job is there: only leftovers_finish_move() */
};

/* old_dir NULL: wherever it came from. -EBUSY: another auger is at it, it came from elsewhere, or
 * the job has ended and nobody can know where it was. */
int leftovers_find(const struct top_dir *old_dir, const struct top_dir *new_dir,
		   enum leftovers *ret, struct err *e) MUST_CHECK;

/* LEFTOVERS_MOVED: takes away what only the move needed. */
int leftovers_finish_move(const struct top_dir *old_dir, const struct top_dir *new_dir,
			  struct err *e) MUST_CHECK;

#endif
