/* SPDX-License-Identifier: MIT */
/*
 * scan: fills an inventory from /proc: what a job has open below OLD, and what blocks its move.
 *
 * It reads /proc alone and never waits for storage. So it also works while OLD's storage hangs, and
 * it is fast enough for the pause. relocate scans the running job first and the frozen job again;
 * the second inventory is the one that is moved.
 *
 * Source: proc(5), kcmp(2), statx(2).
 */
#ifndef RELOCATE_INVENTORY_SCAN_H
#define RELOCATE_INVENTORY_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/inventory.h"
#include "relocate/inventory/scan_cache.h"
#include "relocate/inventory/top_dir.h"

/* What to scan. Everything borrowed. */
struct scan_opts {
	const pid_t *pids; /* [pid_count]: the job; with is_frozen all its processes */
	size_t pid_count;
	const struct top_dir *old_dir;
	const struct top_dir *new_dir; /* NULL: obstacles of NEW are not searched */
	bool is_only;                  /* without descendants of pids */
	bool is_found; /* pids came from a search: one that has ended is skipped, not an obstacle */
	bool is_frozen;     /* struct freeze stopped the processes */
	bool is_dead;       /* OLD's storage hangs and must not be asked */
	bool moves_libs;    /* executable mappings of OLD move; otherwise they are obstacles */
	bool skips_manager; /* files that slurmstepd, a parent of the job, has open move without it
			     */
	const struct reloc_inventory *quiet; /* its inotify descriptors had no events before the
					  freeze; NULL: unknown */
	struct scan_cache *cache;            /* outsiders that need no new scan; NULL: scan all */
};

/* An obstacle is not an error: ret lists it. Fails when the inventory would be incomplete. */
int scan_take(const struct scan_opts *opts, struct reloc_inventory *ret, struct err *e) MUST_CHECK;

/* Has an inotify descriptor of the inventory events that its process has not read? */
bool scan_has_unread_events(const struct reloc_inventory *s);

#endif
