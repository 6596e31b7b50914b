/* SPDX-License-Identifier: MIT */
/*
 * relocate: moves everything that a running job has open below OLD to NEW, or changes nothing.
 *
 * The order is: scan, copy while the job runs, freeze, scan again, copy the rest, repoint, verify,
 * flush, commit, thaw. Everything before the commit can be undone. If this process dies, each
 * process of the job completes on one side, OLD or NEW (see remote.h).
 */
#ifndef RELOCATE_RELOCATE_H
#define RELOCATE_RELOCATE_H

#include "relocate/relocation.h"

/* Removes the leftovers of a killed move from NEW. -EBUSY: the job uses NEW. */
int relocate_undo(const struct top_dir *new_dir, struct err *e) MUST_CHECK;

/* Runs the move. After a killed auger the same move continues with the leftover copy, or finishes.
 * ret_inventory: what was moved, or with -EBUSY the obstacles; the caller frees it in any case. On
 * failure the job and NEW are unchanged. -ETIME: the pause would be longer than max_pause_ns. If
 * storage hangs in the pause the copy stays in NEW for relocate_undo(). */
int relocate_run(const struct relocation *r, struct reloc_inventory *ret_survey,
		 struct relocate_done *ret, struct err *e) MUST_CHECK;

#endif
