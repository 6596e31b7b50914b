/* SPDX-License-Identifier: MIT */
/*
 * remote_thread: one frozen thread that runs a trampoline and returns to its program. Private to
 * this folder.
 *
 * From remote_thread_enter_lists() until remote_thread_restore() its registers lead into a
 * trampoline (arch.h). If this process dies in between, the thread runs its lists to the end and
 * continues its program. If the thread stopped in a restartable sequence, the sequence is aborted,
 * as the kernel does after any preemption.
 *
 * Source: ptrace(2), rseq(2).
 */
#ifndef INJECT_REMOTE_THREAD_H
#define INJECT_REMOTE_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"

struct remote_thread {
	pid_t pid, tid;            /* in our pid namespace */
	struct arch_resume resume; /* the state to which the trampoline restores it */
	struct arch_regs
		saved; /* registers for remote_thread_restore(): the kernel restarts its call */
	int memory;    /* /proc/PID/mem; borrowed */
	uint64_t trampoline; /* address of its trampoline; 0: none yet */
	bool is_diverted;    /* its registers lead into a trampoline */
	bool is_masked;      /* its signals are blocked */
	bool got_signal;     /* resume.signal also came from another sender */
};

/* tid is in a ptrace stop. -ENOTSUP: it runs 32-bit code. */
int remote_thread_init(struct remote_thread *ret, pid_t pid, pid_t tid, int memory, int signal,
		       struct err *e) MUST_CHECK;

/* Fills in the trampoline for this thread. */
void remote_thread_fill_trampoline(const struct remote_thread *w, unsigned char *trampoline);

/* For a thread that is still in this trampoline of a tracer that was killed: it returns to its
 * program now, as that code would return. */
void remote_thread_leave(struct remote_thread *w, const unsigned char *trampoline);

/* Makes one call by the trampoline at address and returns its result. The thread stays in it. */
int remote_thread_call_once(struct remote_thread *w, uint64_t address, long nr,
			    const uint64_t arg[6], int64_t *ret_result, struct err *e) MUST_CHECK;

/* From now on the thread runs the lists of control when it runs. */
int remote_thread_enter_lists(struct remote_thread *w, uint64_t address, uint64_t control,
			      struct err *e) MUST_CHECK;

/* Runs until the trampoline stops. -ESRCH: the thread was killed. -EFAULT: the trampoline crashed.
 */
int remote_thread_run(struct remote_thread *w, struct err *e) MUST_CHECK;
/* The same, but -ETIME when it has not stopped by until_ns (CLOCK_MONOTONIC): it runs on. */
int remote_thread_run_until(struct remote_thread *w, int64_t until_ns, struct err *e) MUST_CHECK;

/* Waits for that again. */
int remote_thread_await(struct remote_thread *w, int64_t until_ns, struct err *e) MUST_CHECK;

/* Adds a thread to the process of w, by the trampoline at address. It is stopped and has no program
 * to return to: remote_thread_end() ends it. */
int remote_thread_clone(struct remote_thread *w, uint64_t address, struct remote_thread *ret,
			struct err *e) MUST_CHECK;
/* 0, or -ETIME: it has not ended by until_ns. */
int remote_thread_end(struct remote_thread *w, int64_t until_ns) MUST_CHECK;

/* Restores signal mask and registers. */
void remote_thread_restore(struct remote_thread *w);

/* remote_priority.c: real-time priority of the thread from now until remote_thread_restore(), while
 * it is in a trampoline. That must have been filled after this: it restores the thread's own
 * priority, even when this process has died. */
void remote_plan_priority(struct remote_thread *w);
/* For remote_thread.c: the registers lead into the trampoline. */
void remote_raise_priority(const struct remote_thread *w);
/* What a tracer that was killed raised. policy: that of the program. */
void remote_drop_priority(pid_t tid, int policy);
void remote_restore_priority(const struct remote_thread *w);

/* A signal that pid ignores even without a tracer; it stops the trampolines of its threads. */
int remote_thread_choose_signal(pid_t pid);

#endif
