/* SPDX-License-Identifier: MIT */
/* move: a move in progress, and what the files of relocate share about it. */
#ifndef RELOCATE_MOVE_H
#define RELOCATE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "inject/freeze.h"
#include "relocate/inventory/scan_cache.h"
#include "relocate/pause.h"
#include "relocate/relocation.h"
#include "relocate/repoint/repoint.h"

struct move {
	const struct relocation *r;
	struct rows pids;                  /* pid_t: the job at the last scan */
	struct rows starts;                /* uint64_t: start_ticks of each */
	struct reloc_inventory *inventory; /* the newest */
	struct scan_cache cache;
	struct relocate_done done;
	struct copy *copy;
	struct freeze *freeze;
	struct repoint *repoint;
	struct pause_costs costs;
	int64_t until_ns; /* the end of the pause, as clock_mono_ns(), if it is not committed */
	bool is_committed;
	bool is_stuck;    /* a thread hangs in storage and uses copy */
	struct rows hung; /* struct freeze_hung: threads that were left out of the freeze */
	bool is_quiet;    /* no inotify descriptor of inventory had events before the freeze */
};

/* Scans the job, notes its processes, and checks that it can be moved. -EBUSY: it cannot. */
int move_scan_job(struct move *m, bool is_frozen, struct err *e) MUST_CHECK;
/* With an OLD that hangs: the same in a thread, until until_ns (CLOCK_MONOTONIC). If that hangs, m
 * is_stuck. */
int move_scan_dead(struct move *m, bool is_frozen, int64_t until_ns, struct err *e) MUST_CHECK;
/* Scans processes outside the job before the freeze; the pause rescans only those that have run
 * since. */
int move_scan_outside(struct move *m, struct err *e) MUST_CHECK;
/* Drops the processes that have ended. Their numbers may be other processes' by now. */
int move_prune_pids(struct move *m, struct err *e) MUST_CHECK;
/* After the freeze, in which PIDs cannot be reused: a process that ended just before it may have
 * left its number to another one. -EAGAIN: then the job is thawed. */
int move_check_pids(const struct move *m, struct err *e) MUST_CHECK;
bool move_is_interrupted(const struct move *m);
void move_log_cause(const struct err *why);
/* Unmounts or covers OLD, and mounts NEW at its path. */
void move_swap_dirs(struct move *m);
void move_close_old(const struct relocation *r); /* our own descriptor would keep OLD busy */

/* precopy.c: copies while the job runs, until the rest is short enough for the pause. */
int move_precopy(struct move *m, struct err *e) MUST_CHECK;
/* Starts dirty tracking, then copies once more what was written before that. */
int move_track(struct move *m, struct err *e) MUST_CHECK;

/* frozen.c: freezes the job and moves it. Repeats that: a half-read directory, for example, is soon
 * read to its end. */
int move_frozen(struct move *m, struct err *e) MUST_CHECK;

#endif
