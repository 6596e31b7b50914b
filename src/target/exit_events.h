/* SPDX-License-Identifier: MIT */
/*
 * exit_events: receives the usage of each thread of the machine from the kernel when the thread
 * ends.
 *
 * It misses no short-lived process. Memory and faults are exact; CPU time excludes the time since
 * the last tick. Needs CAP_NET_ADMIN outside of containers, and a kernel of 5.19 or later (which
 * reports the process of a thread). Source: kernel Documentation/accounting/taskstats.rst,
 * taskstats-struct.rst; linux/taskstats.h.
 */
#ifndef TARGET_EXIT_EVENTS_H
#define TARGET_EXIT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

/* The offset of ac_tgid in struct taskstats. Linux 5.19; older headers lack it. */
#define EXIT_EVENTS_TGID_AT 368

struct exit_record {
	pid_t pid, tid, parent;
	char name[16];   /* comm */
	int64_t wall_ns; /* since the thread was created */
	int64_t user_ns, system_ns, run_wait_ns;
	int64_t minor_faults, major_faults;
	int64_t peak_rss_bytes; /* of its process so far, since the last exec */
};

/* All zero is not open. */
struct exit_events {
	int fd; /* netlink; 0: not open */
	uint16_t family;
	char cpus[64]; /* CPUs to listen to, as /sys/devices/system/cpu/possible has them */
	bool has_lost; /* the kernel dropped events because our queue was full, or is too old */
};

/* Starts to receive. Not permitted: a negative errno, and not open. */
int exit_events_open(struct exit_events *x, struct err *e) MUST_CHECK;
void exit_events_close(struct exit_events *x); /* not open is allowed */

/* The next exit, in order; false: none pending. */
bool exit_events_next(struct exit_events *x, struct exit_record *ret);

#endif
