/* SPDX-License-Identifier: MIT */
/*
 * attached: measures running processes, or the whole machine, from now on.
 *
 * We are not their parent: the metrics are differences of scans, and the last scan of a process is
 * a little before its end. Short-lived children missed by the scans are included when their parents
 * waited for them.
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
	int64_t run_wait_ns;    /* -1: unknown */
	int64_t peak_rss_bytes; /* of the largest process */
	size_t ended;           /* of the given processes */
	struct counters counters;
	struct pressure pressure;
	struct cgroup_usage cgroup; /* of the first process; throttling: in this time */
	struct machine machine;
	struct proctree tree;
	int64_t scan_ns; /* mean time between two scans */
};

/* Measures until the processes end, the time is over, or SIGINT, SIGTERM or SIGHUP comes. -ESRCH: a
 * process does not exist. */
int attached_run(const struct attached_opts *o, struct attached *ret, struct err *e) MUST_CHECK;
void attached_fini(struct attached *w); /* all zero is allowed */

#endif
