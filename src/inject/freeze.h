/* SPDX-License-Identifier: MIT */
/*
 * freeze: stops all threads of processes by ptrace, and thaws them without a trace.
 *
 * It serves relocate, and everybody else who makes system calls in other processes (remote.h). When
 * this process dies the kernel thaws the threads, because they are seized without
 * PTRACE_O_EXITKILL. All threads are seized before the first one stops. Threads and children that
 * start meanwhile are stopped too, until a whole pass over stopped threads finds nothing new.
 *
 * Source: ptrace(2).
 */
#ifndef INJECT_FREEZE_H
#define INJECT_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

struct freeze;

/* Freezes the processes and, unless is_only, their descendants. -EBUSY: a thread did not stop
 * within limit_ns (e names it, its state and wchan). -EPERM: not allowed, or traced by another
 * process. -ESRCH: all have ended; single ones that have ended are skipped. On failure all run
 * again. */
int freeze_begin(struct freeze **ret, const pid_t *pids, size_t count, bool is_only,
		 int64_t limit_ns, struct err *e) MUST_CHECK;

/* A thread that hangs in a call. */
struct freeze_hung {
	pid_t pid, tid;
	char wchan[48]; /* where; "?": unknown */
};

/* The same, but leaves out threads that do not stop because storage keeps them in a call (state D):
 * they cannot run before that returns, and then they stop. They stay seized until this process
 * ends, so the job cannot be frozen again. */
int freeze_begin_around_hung(struct freeze **ret, const pid_t *pids, size_t count, bool is_only,
			     int64_t limit_ns, struct err *e) MUST_CHECK;
/* The threads that were left out; borrowed. */
const struct freeze_hung *freeze_hung(const struct freeze *h, size_t *ret_count);

/* Freezes one thread while the others of pid run on. */
int freeze_begin_thread(struct freeze **ret, pid_t pid, pid_t tid, int64_t limit_ns,
			struct err *e) MUST_CHECK;

/* Thaws all threads with their registers, signal masks and interrupted calls, and frees h. NULL is
 * allowed. Returns the time at which all ran again, as clock_mono_ns(). */
int64_t freeze_thaw(struct freeze *h);

/* The frozen processes, ascending; borrowed. */
const pid_t *freeze_pids(const struct freeze *h, size_t *ret_count);
/* The time at which the first thread was interrupted, as clock_mono_ns(). */
int64_t freeze_since_ns(const struct freeze *h);

#endif
