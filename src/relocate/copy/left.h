/* SPDX-License-Identifier: MIT */
/* left: what a move that was killed has left in NEW, and what may be done with it. */
#ifndef RELOCATE_COPY_LEFT_H
#define RELOCATE_COPY_LEFT_H

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/place.h"

enum left {
	LEFT_NONE,
	LEFT_COPY,  /* a copy that nobody uses: may be gone on with, or removed */
	LEFT_MOVED, /* the job is there: only left_finish() */
};

/* old_place NULL: wherever it came from. -EBUSY: another auger is at it, it came from elsewhere, or
 * the job has ended and nobody can know where it was. */
int left_look(const struct reloc_place *old_place, const struct reloc_place *new_place,
	      enum left *ret, struct err *e) MUST_CHECK;

/* LEFT_MOVED: takes away what only the move needed. */
int left_finish(const struct reloc_place *old_place, const struct reloc_place *new_place,
		struct err *e) MUST_CHECK;

#endif
