/* SPDX-License-Identifier: MIT */
/*
 * pause: how long a move will freeze its job, from what its parts have cost so far.
 *
 * The scan and the walk of the trees run side by side, as do the repointing and the flush. So the
 * longer of two counts.
 */
#ifndef RELOCATE_PAUSE_H
#define RELOCATE_PAUSE_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/inventory.h"

/* All in nanoseconds. */
struct pause_costs {
	int64_t freeze_ns;  /* to freeze and thaw the first thread: on busy CPUs it waits for one */
	int64_t thread_ns;  /* each thread beside it */
	int64_t process_ns; /* to prepare a process for calls */
	int64_t call_ns;    /* a system call in a process */
	int64_t walk_ns;    /* the last pass over the trees, with what it copied */
	int64_t flush_ns;   /* of what that pass copied */
};

/* What calls cost on a machine with 2 cores (Linux 6.18), rounded up. */
extern const struct pause_costs pause_typical_costs;

/* Freezes one thread of the running job for a moment and makes harmless calls in it. On failure
 * ret is unchanged. -EBUSY: the thread does not stop. */
int pause_measure(const struct reloc_inventory *s, struct pause_costs *ret,
		  struct err *e) MUST_CHECK;

int64_t pause_expected_ns(const struct pause_costs *c, const struct reloc_inventory *s);

/* The same for a job that must not be touched, at typical costs. walk_ns: to look at all files. */
int64_t pause_typical_ns(const struct reloc_inventory *s, int64_t walk_ns);

#endif
