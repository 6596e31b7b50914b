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
#ifndef RELOCATE_INVENTORY_SCAN_CACHE_H
#define RELOCATE_INVENTORY_SCAN_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"

struct scan_cache {
	struct map known;   /* pid: row of times */
	struct rows cpu_ns; /* int64_t: CPU time in ns when it was last found to have nothing */
};

void scan_cache_fini(struct scan_cache *c);

/* CPU time of all threads that pid ever had, in ns. -1: it is gone. */
int64_t scan_cache_cpu_ns(pid_t pid);

/* pid had nothing when it was looked at after scan_cache_cpu_ns() had told time_ns. 0 or -ENOMEM.
 */
int scan_cache_add(struct scan_cache *c, pid_t pid, int64_t time_ns) MUST_CHECK;

bool scan_cache_is_valid(const struct scan_cache *c, pid_t pid);

#endif
