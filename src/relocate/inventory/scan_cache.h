/* SPDX-License-Identifier: MIT */
/*
 * scan_cache: processes outside the job that need no new scan, because they have not run since.
 *
 * A process can open, map or receive a file only by running, and the kernel counts its CPU time in
 * nanoseconds. One call reads that time; a scan needs a call for each descriptor and mapping. The
 * kernel updates the time at the latest when the process leaves its CPU or at the next tick.
 *
 * Source: clock_getcpuclockid(3); Linux kernel/time/posix-cpu-timers.c for clock ids of other
 * processes.
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
	struct map known;   /* pid: row of cpu_ns */
	struct rows cpu_ns; /* int64_t: CPU time before the scan that found nothing of OLD */
};

void scan_cache_fini(struct scan_cache *c);

/* CPU time of all threads that pid ever had. -1: it has ended. */
int64_t scan_cache_cpu_ns(pid_t pid);

/* A scan of pid found nothing; its CPU time was time_ns before the scan. 0 or -ENOMEM. */
int scan_cache_add(struct scan_cache *c, pid_t pid, int64_t time_ns) MUST_CHECK;

bool scan_cache_is_valid(const struct scan_cache *c, pid_t pid);

#endif
