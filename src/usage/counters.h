/* SPDX-License-Identifier: MIT */
/*
 * counters: counts perf events in a process and its descendants.
 *
 * Related events form a group that is counted at the same time. When the processor has too few
 * counters, the kernel multiplexes groups: a value is then scaled by its running time.
 * Source: perf_event_open(2), "read_format".
 */
#ifndef USAGE_COUNTERS_H
#define USAGE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { COUNTERS = 11 };

struct counter {
	const char *name;               /* as perf(1) has it; borrowed for good */
	const char *unit;               /* "count" or "nanoseconds" */
	int fd;                         /* -1: not open */
	int error;                      /* 0, or -errno: why it is not open */
	bool is_user_only;              /* without the kernel, which is not permitted */
	int64_t value;                  /* scaled */
	int64_t enabled_ns, running_ns; /* running less than enabled: multiplexed */
};

struct counters {
	struct counter all[COUNTERS];
};

/* Opens counters of a process that waits before its exec; they start at the exec. Each that fails
 * has its error. */
void counters_open(struct counters *c, pid_t pid);
/* Of a thread that runs (and what it starts), or of all that runs on a CPU (tid -1): counts from
 * now on. cpu -1: wherever it runs. */
void counters_open_running(struct counters *c, pid_t tid, int cpu);

/* Adds to a sum, all zero at first. A counter that is missing in one is missing in the sum. */
void counters_add(struct counters *sum, const struct counters *one);

void counters_read(struct counters *c);

/* The kernel stops counting for others than root at a program that is setuid or unreadable: fails
 * counters that were on for clearly less than the CPU time used, with -ESTALE. */
void counters_check_time(struct counters *c, int64_t cpu_ns);

void counters_close(struct counters *c); /* all zero is allowed */

#endif
