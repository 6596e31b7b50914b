/* SPDX-License-Identifier: MIT */
/* leftovers: what a killed move has left in NEW, and how to finish that move. */
#ifndef RELOCATE_COPY_LEFTOVERS_H
#define RELOCATE_COPY_LEFTOVERS_H

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/top_dir.h"

enum leftovers {
	LEFTOVERS_NONE,
	LEFTOVERS_COPY,    /* an unused copy: it can be continued or removed */
	LEFTOVERS_MOVED,   /* the job uses NEW: only leftovers_finish_move() is possible */
	LEFTOVERS_SWAPPED, /* the same, and OLD's path leads elsewhere by now (--swap) */
};

/* old_dir NULL: any. -EBUSY: another auger is at work, the leftovers come from another OLD, or the
 * job has ended and nobody can know on which side it was. */
int leftovers_find(const struct top_dir *old_dir, const struct top_dir *new_dir,
		   enum leftovers *ret, struct err *e) MUST_CHECK;

/* LEFTOVERS_MOVED: removes from NEW what only the move needed. old_dir NULL: it is not there. */
int leftovers_finish_move(const struct top_dir *old_dir, const struct top_dir *new_dir,
			  struct err *e) MUST_CHECK;

#endif
