/* SPDX-License-Identifier: MIT */
/*
 * tracee: one thread under ptrace, from PTRACE_SEIZE to PTRACE_DETACH. Private to this folder.
 *
 * A seized thread that has not reported its stop cannot be detached: it stays seized until a later
 * poll.
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
	TRACEE_SEIZED,  /* runs, or has not stopped yet */
	TRACEE_STOPPED, /* in a ptrace stop: its registers can be read */
	TRACEE_GONE,    /* ended or detached */
};

struct tracee {
	pid_t pid, tid;
	enum tracee_state state;
	bool is_group_stopped; /* the job itself is stopped (state T) */
	int children;          /* its open list of children in /proc; -1: none. Borrowed */
	bool is_filtered;      /* its seccomp filter could not be suspended */
	bool needs_no_restart; /* the registers already restart its call */
	bool hangs; /* storage keeps it in a call (state D): it stops when that returns */
};

/* Seizes tid, which runs on. -ESRCH: it has ended. -EPERM: e has the reason. */
int tracee_seize(struct tracee *ret, pid_t pid, pid_t tid, struct err *e) MUST_CHECK;

/* The same for a thread that makes no call for us: its seccomp filter is in force all the time. */
int tracee_seize_to_read(struct tracee *ret, pid_t pid, pid_t tid, struct err *e) MUST_CHECK;

/* Asks a seized thread to stop. May be repeated. */
void tracee_interrupt(struct tracee *t);

/* Handles what the thread has reported, without waiting. Delivers its signals. */
void tracee_poll(struct tracee *t);

/* Detaches a stopped thread. Restarts an interrupted wait, unless a signal for the job would have
 * ended it. */
void tracee_detach(struct tracee *t);

/* The same without a moment at which a signal would not end the wait: a thread that is to restart
 * its call is detached inside of it. false: it got no CPU until then, and stays seized. */
bool tracee_detach_in_call(struct tracee *t, int64_t until_ns);

#endif
