/* SPDX-License-Identifier: MIT */
/*
 * polite: while much is copied, this thread runs where nobody else wants a CPU, so that the job
 * need not wait for a slice of time to end. Where it has to wait for long itself it takes its turn
 * with the others, or the copy would never end on a machine whose CPUs all compute.
 *
 * Source: sched(7), SCHED_IDLE; the kernel's Documentation/scheduler/sched-stats.rst, schedstat.
 */
#ifndef RELOCATE_POLITE_H
#define RELOCATE_POLITE_H

#include <stdbool.h>
#include <stdint.h>

struct polite {
	int waits;          /* what it waited for a CPU, of /proc; -1: not open */
	int policy;         /* before */
	bool is_on;         /* else it is as before */
	int64_t at_ns;      /* of the last look; CLOCK_MONOTONIC */
	uint64_t waited_ns; /* then */
};

/* Does nothing where there is no way back, or it is no ordinary thread. */
void polite_begin(struct polite *p);
/* Now and then. NULL is allowed. */
void polite_check(struct polite *p);
void polite_end(struct polite *p);

#endif
