/* SPDX-License-Identifier: MIT */
/* relocation: what to move and how, whether it can be moved, and what a move did. */
#ifndef RELOCATE_RELOCATION_H
#define RELOCATE_RELOCATION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/copy/copy.h"
#include "relocate/inventory/scan.h"

/* What to move. Everything borrowed. */
struct relocation {
	const pid_t *pids; /* [pid_count] */
	size_t pid_count;
	struct top_dir *old_dir, *new_dir;
	struct copy_opts copy;
	bool is_only;    /* without descendants of pids */
	bool is_found;   /* pids came from a search: some may have ended since */
	bool is_partial; /* things that cannot be moved may stay on OLD */
	bool moves_libs; /* libraries on OLD move, too */
	bool is_checked; /* compare NEW with OLD, read again from its storage, before the pause */
	bool swaps;      /* unmount OLD and mount NEW at its path */
	bool is_dead;    /* OLD's storage hangs: only what is in memory moves */
	bool skips_manager; /* see struct scan_opts */
	int64_t max_pause_ns;
};

enum relocate_swap { RELOCATE_NOT_SWAPPED, RELOCATE_UNMOUNTED, RELOCATE_COVERED };

/* Would umount OLD succeed now? Only root can try, and nobody when its storage hangs. */
enum relocate_umount {
	RELOCATE_NO_MOUNT,
	RELOCATE_FREE,
	RELOCATE_BUSY,
	RELOCATE_UNTRIED,
	RELOCATE_HANGS
};

/* What a move did. */
struct relocate_done {
	int64_t expected_ns; /* the pause as computed before it */
	int64_t pause_ns;    /* from the first stopped thread until all run again */
	int64_t freeze_ns, scan_ns, copy_ns, repoint_ns, flush_ns; /* parts of pause_ns */
	int64_t precopy_ns;                                        /* copying while the job ran */
	unsigned passes;        /* over the tree, while the job ran */
	struct copy_pass final; /* the pass in the pause */
	uint64_t copied_bytes;  /* written to NEW in total */
	enum relocate_swap swap;
	struct reloc_inventory after; /* of the running job: what still uses or names OLD. Owned */
	enum relocate_umount umount;
	bool was_moved; /* an earlier auger, which was killed, had moved the job */
};

void relocate_done_fini(struct relocate_done *d);

/* Scans the running job with the options of r. */
int relocation_scan(const struct relocation *r, struct reloc_inventory *ret,
		    struct err *e) MUST_CHECK;
/* The options of a scan of r. */
struct scan_opts relocation_scan_opts(const struct relocation *r);

/* May the move begin? -EBUSY: e names the first obstacle. */
int relocation_check(const struct relocation *r, const struct reloc_inventory *s,
		     struct err *e) MUST_CHECK;

#endif
