/* SPDX-License-Identifier: MIT */
/*
 * counters: how often events happened in a process and all that it starts.
 *
 * Events that belong together are one group, counted at the same time. Where the processor has
 * fewer counters than there are events, the kernel takes turns (multiplexing): a value is then
 * scaled up from the time that it was counted in, and says so.
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
	int error;                      /* 0, or -errno: why there is none */
	bool is_user_only;              /* the kernel's part may not be counted */
	int64_t value;                  /* scaled */
	int64_t enabled_ns, running_ns; /* less: it took turns */
};

struct counters {
	struct counter all[COUNTERS];
};

/* Of a process that waits to be started: counts from its exec. What cannot be counted says so. */
void counters_open(struct counters *c, pid_t pid);
/* Of a thread that runs (and what it starts), or of all that runs on a CPU (tid -1): counts from
 * now on. cpu -1: wherever it runs. */
void counters_open_running(struct counters *c, pid_t tid, int cpu);

/* To the sum, which is all zero at first: what one lacks it lacks. */
void counters_add(struct counters *sum, const struct counters *one);

void counters_read(struct counters *c);
void counters_close(struct counters *c);

#endif
