/* SPDX-License-Identifier: MIT */
/*
 * hold_thread: one thread under ptrace, from SEIZE to DETACH. The folder's own.
 *
 * A thread that was seized but has not reported its stop cannot be let go: it stays seized and
 * is asked for later.
 *
 * Source: ptrace(2); signal(7) for the calls that end with EINTR after a stop.
 */
#ifndef INJECT_HOLD_THREAD_H
#define INJECT_HOLD_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

enum hold_state {
	HOLD_SEIZED,  /* runs, or is on its way to the stop */
	HOLD_STOPPED, /* in a ptrace stop: registers can be read */
	HOLD_GONE,    /* it ended, or was let go */
};

struct hold_thread {
	pid_t pid, tid;
	enum hold_state state;
	bool is_group_stopped; /* the job itself is stopped (state T) */
	int children;          /* its list in /proc, open; -1: it is not. Borrowed */
	bool is_filtered;      /* its seccomp filter could not be suspended */
	bool is_settled;       /* it is known that no call need be made again by us */
};

/* Takes tid over; it runs on. -ESRCH: it is gone or just ending. -EPERM with the reason. */
int hold_thread_seize(struct hold_thread *ret, pid_t pid, pid_t tid, struct err *e) MUST_CHECK;

/* Asks a seized thread to stop; again, if need be. */
void hold_thread_interrupt(struct hold_thread *t);

/* What it reported since; does not wait. Signals on the way are passed on. */
void hold_thread_poll(struct hold_thread *t);

/* Lets a stopped thread run; an interrupted wait is made again, unless a signal of the job's own
 * would have ended it. */
void hold_thread_release(struct hold_thread *t);

#endif
