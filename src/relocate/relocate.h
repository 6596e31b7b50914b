/* SPDX-License-Identifier: MIT */
/*
 * relocate: moves all that a living job has below OLD to NEW, or leaves everything as it was.
 *
 * Order of work: survey; copy ahead; stop; survey again, and that one counts; copy the rest;
 * re-point; verify; flush; commit; let go. Before the commit everything can be undone.
 *
 * Source: ../shared/spec/relocate.md 2.0.
 */
#ifndef RELOCATE_RELOCATE_H
#define RELOCATE_RELOCATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/copy/copy.h"
#include "relocate/inventory/scan.h"

/* What is asked for. Everything borrowed. */
struct relocation {
	const pid_t *pids; /* [pid_count] */
	size_t pid_count;
	struct top_dir *old_dir, *new_dir;
	struct copy_opts copy;
	bool is_only;    /* without descendants */
	bool is_found;   /* pids were found, not named: some may have ended since */
	bool is_partial; /* what cannot be moved may stay on OLD */
	bool moves_libs; /* libraries of OLD are moved, too */
	bool is_checked; /* NEW is read again from its storage and compared before the pause */
	bool swaps;      /* OLD is unmounted and NEW shown in its place */
};

enum relocate_swap { RELOCATE_NOT_SWAPPED, RELOCATE_UNMOUNTED, RELOCATE_COVERED };

/* Could OLD be unmounted now? Only root can try. */
enum relocate_umount { RELOCATE_NO_MOUNT, RELOCATE_FREE, RELOCATE_BUSY, RELOCATE_UNTRIED };

/* What was done. */
struct relocate_done {
	int64_t pause_ns; /* from the first thread's stop until all ran again */
	int64_t freeze_ns, scan_ns, copy_ns, repoint_ns, flush_ns; /* parts of it */
	int64_t precopy_ns;                                        /* copying while the job ran */
	unsigned passes;                                           /* while it ran */
	struct copy_pass final;                                    /* in the pause */
	uint64_t copied_bytes;                                     /* written to NEW in all */
	enum relocate_swap swap;
	struct reloc_inventory
		after; /* of the job that runs on: what still stands on OLD, or names it. Owned */
	enum relocate_umount umount;
	bool was_moved; /* by an earlier auger, which was killed */
};

void relocate_done_fini(struct relocate_done *d);

/* The survey of the living job, by the options of r. */
int relocate_scan(const struct relocation *r, struct reloc_inventory *ret,
		  struct err *e) MUST_CHECK;

/* May the move begin? -EBUSY, with the first that stands in the way. */
int relocate_check(const struct relocation *r, const struct reloc_inventory *s,
		   struct err *e) MUST_CHECK;

/* Removes what a move that was killed has left in NEW. -EBUSY: the job is there. */
int relocate_undo(const struct top_dir *new_dir, struct err *e) MUST_CHECK;

/* The same move again after auger was killed goes on with what was copied, or ends it.
 * ret_survey: of the stopped job, what was moved; with -EBUSY: with what stood in the way. To be
 * freed in any case. On failure the job and NEW are as before. */
int relocate_run(const struct relocation *r, struct reloc_inventory *ret_survey,
		 struct relocate_done *ret, struct err *e) MUST_CHECK;

#endif
