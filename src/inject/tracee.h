/* SPDX-License-Identifier: MIT */
/*
 * tracee: one thread under ptrace, from SEIZE to DETACH. The folder's own.
 *
 * A thread that was seized but has not reported its stop cannot be let go: it stays seized and
 * is asked for later.
 *
 * Source: ptrace(2); signal(7) for the calls that end with EINTR after a stop.
 */
#ifndef INJECT_TRACEE_H
#define INJECT_TRACEE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

enum tracee_state {
	TRACEE_SEIZED,  /* runs, or is on its way to the stop */
	TRACEE_STOPPED, /* in a ptrace stop: registers can be read */
	TRACEE_GONE,    /* it ended, or was let go */
};

struct tracee {
	pid_t pid, tid;
	enum tracee_state state;
	bool is_group_stopped; /* the job itself is stopped (state T) */
	int children;          /* its list in /proc, open; -1: it is not. Borrowed */
	bool is_filtered;      /* its seccomp filter could not be suspended */
	bool needs_no_restart; /* it is known that no call need be made again by us */
};

/* Takes tid over; it runs on. -ESRCH: it is gone or just ending. -EPERM with the reason. */
int tracee_seize(struct tracee *ret, pid_t pid, pid_t tid, struct err *e) MUST_CHECK;

/* Asks a seized thread to stop; again, if need be. */
void tracee_interrupt(struct tracee *t);

/* What it reported since; does not wait. Signals on the way are passed on. */
void tracee_poll(struct tracee *t);

/* Lets a stopped thread run; an interrupted wait is made again, unless a signal of the job's own
 * would have ended it. */
void tracee_detach(struct tracee *t);

#endif
