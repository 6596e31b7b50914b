/* SPDX-License-Identifier: MIT */
/*
 * idle: processes that had nothing of OLD and have not run since, so that they still have nothing.
 *
 * A process opens, maps, receives and changes directory by running, and what runs uses CPU time,
 * which the kernel counts in nanoseconds, at the latest when it leaves its CPU or at the next tick.
 * To ask for that is one call; to look into a process is one for each of its descriptors and
 * mappings.
 *
 * Source: clock_getcpuclockid(3); Linux kernel/time/posix-cpu-timers.c for ids of other processes.
 */
#ifndef RELOCATE_INVENTORY_IDLE_H
#define RELOCATE_INVENTORY_IDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"

struct idle {
	struct map known;  /* pid: row of times */
	struct rows times; /* int64_t: CPU time in ns when it was last found to have nothing */
};

void idle_fini(struct idle *i);

/* CPU time of all threads that pid ever had, in ns. -1: it is gone. */
int64_t idle_time_ns(pid_t pid);

/* pid had nothing when it was looked at after idle_time_ns() had told time_ns. 0 or -ENOMEM. */
int idle_note(struct idle *i, pid_t pid, int64_t time_ns) MUST_CHECK;

bool idle_is_still(const struct idle *i, pid_t pid);

#endif
