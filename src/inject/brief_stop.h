/* SPDX-License-Identifier: MIT */
/*
 * brief_stop: stops one thread after another for a few milliseconds each, to read its registers and
 * memory.
 *
 * A child process is the tracer: a thread that does not stop in time cannot be detached, but the
 * end of the tracer frees it. The child resumes the thread after limit_ns even if this process does
 * nothing, or is stopped with its job, and it ends when this process ends. So a thread goes on
 * whoever is killed when.
 *
 * Calls that the stop ends with EINTR are restarted (tracee.h); a thread that was stopped by a
 * signal stays stopped. Between begin and end this process has real-time priority, if it may: a
 * stop is not to wait for other processes. Source: ptrace(2), prctl(2), PR_SET_PDEATHSIG.
 */
#ifndef INJECT_BRIEF_STOP_H
#define INJECT_BRIEF_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"

/* All zero: no child. */
struct brief_stop {
	pid_t child; /* 0: none, the next stop starts one */
	int fd;      /* of a child: the socket to it */
	int policy;  /* of scheduling, outside of stops */
	int priority;
	bool is_raised;
};

/* What is known of a stop after its end. */
struct brief_stop_result {
	int64_t stopped_ns; /* from its report to the detach */
	bool was_late;      /* the limit ended it, and the thread ran while it was read */
};

/* Stops a thread of process pid for at most limit_ns. -ESRCH: it has ended. -EPERM: this user may
 * not trace it, or another process does. -EBUSY: it did not stop within wait_ns, or
 * hangs in a call (state D). */
int brief_stop_begin(struct brief_stop *s, pid_t pid, pid_t tid, int64_t wait_ns, int64_t limit_ns,
		     struct arch_regs *ret, struct err *e) MUST_CHECK;

/* After a successful begin: the thread goes on. */
struct brief_stop_result brief_stop_end(struct brief_stop *s);

/* Ends the child. */
void brief_stop_close(struct brief_stop *s);

#endif
