/* SPDX-License-Identifier: MIT */
/*
 * watched: what processes that run already, or all of the machine, use from now on.
 *
 * Nobody waits for them: the metrics are differences of looks, and the last one of a process that
 * ends is a little before its end. What processes below them used that were too short to be seen is
 * in the metrics when their parents waited for them.
 */
#ifndef USAGE_ATTACHED_H
#define USAGE_ATTACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "target/cgroup.h"
#include "target/pressure.h"
#include "target/proc.h"
#include "target/proctree.h"
#include "usage/counters.h"
#include "usage/machine.h"

struct attached_opts {
	const pid_t *pids; /* [pid_count]: with all below them; none: the whole machine; borrowed */
	size_t pid_count;
	int64_t duration_ns; /* 0: until they end, or a signal comes */
};

struct attached {
	int64_t elapsed_ns;
	struct process_use use;
	struct proc_io io;
	int64_t run_wait_ns;    /* -1: not told */
	int64_t peak_rss_bytes; /* of the largest process */
	size_t ended;           /* of the processes that were asked for */
	struct counters counters;
	struct pressure pressure;
	struct cgroup_usage cgroup; /* of the first process; throttling: in this time */
	struct machine machine;
	struct proctree tree;
	int64_t scan_ns; /* between two looks, in the mean */
};

/* Until the processes end, the time is over, or SIGINT, SIGTERM or SIGHUP comes. -ESRCH: a process
 * is not there. */
int attached_run(const struct attached_opts *o, struct attached *ret, struct err *e) MUST_CHECK;
void attached_fini(struct attached *w); /* all zero is allowed */

#endif
