/* SPDX-License-Identifier: MIT */
/*
 * copies: runs several copies of a command at once and measures each.
 *
 * All copies are forked first and then started one after the other. Their standard input and output
 * are /dev/null.
 */
#ifndef USAGE_COPIES_H
#define USAGE_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/macros.h"
#include "target/cpulist.h"
#include "target/runloop.h"
#include "usage/counters.h"
#include "usage/machine.h"

#define COPIES_MAX 1024

struct copies_opts {
	char *const *argv;          /* ends with NULL; borrowed */
	size_t count;               /* 1..COPIES_MAX */
	const struct cpulist *pins; /* copy i runs on pins[i % count] only; NULL: anywhere */
};

struct copy {
	pid_t pid;  /* also after its end */
	int status; /* exit status, 128+N for signal N */
	int64_t start_ns, wall_ns;
	struct rusage usage;   /* of it, and what it waited for */
	int64_t run_wait_ns;   /* run-queue wait of its scanned threads and children; -1: unknown
				*/
	int64_t thread_peak;   /* the most threads of it at once that were seen, of one process */
	int64_t process_count; /* of it and its children, that were seen */
	struct counters counters;
};

struct copies {
	struct copy *all; /* [count]; owned */
	size_t count;
	struct machine machine; /* of the machine meanwhile */
	int64_t elapsed_ns;     /* from the first start to the last end */
	int64_t own_ns;         /* CPU time of this process */
	int signal;             /* that ended the measurement; 0: none */
	struct runloop loop;    /* its commands are the copies, in order */
};

/* Forks the copies, which wait before their exec, with counters that start at the exec. */
int copies_new(const struct copies_opts *o, struct copies *ret, struct err *e) MUST_CHECK;

/* Starts all. A failed exec returns its errno; then none runs. */
int copies_start(struct copies *c, struct err *e) MUST_CHECK;

/* Waits for the end of all, and scans them at intervals. Forwards signals to all. */
int copies_wait(struct copies *c, struct err *e) MUST_CHECK;

/* Sends SIGTERM to all that still run. False: none does. */
bool copies_terminate(struct copies *c);

/* Ends what still runs. All zero is allowed. */
void copies_fini(struct copies *c);

#endif
