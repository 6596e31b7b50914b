/* SPDX-License-Identifier: MIT */
#include "inject/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "inject/arch.h"
#include "target/proc.h"

/* Missing in older libc headers. */
#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

/* Why was PTRACE_SEIZE refused? */
static int explain_refusal(pid_t pid, pid_t tid, struct err *e)
{
	struct proc_stat s;
	pid_t tracer = (pid_t)proc_status_number(tid, "TracerPid", 10, 0);

	if (!proc_stat_read(&s, tid) || s.state == 'Z' || s.state == 'X')
		return err_set(e, -ESRCH, "thread %d has ended", (int)tid);
	if (tracer > 0) {
		struct proc_stat by = { 0 };

		proc_stat_read(&by, tracer);
		return err_set(e, -EPERM, "process %d (%s) is traced by process %d (%s)", (int)pid,
			       s.comm, (int)tracer, by.comm);
	}
	return err_set(e, -EPERM, "process %d (%s): this user may not trace it", (int)pid, s.comm);
}

static long seize(pid_t tid, unsigned long options)
{
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)options);
}

/* Suspends a seccomp filter where that is allowed; without a filter the option costs nothing. */
int tracee_seize(struct tracee *ret, pid_t pid, pid_t tid, struct err *e)
{
	struct tracee t = { .pid = pid, .tid = tid, .state = TRACEE_SEIZED, .children = -1 };

	if (seize(tid, PTRACE_O_SUSPEND_SECCOMP) < 0) {
		if (errno == ESRCH)
			return err_set(e, -ESRCH, "thread %d has ended", (int)tid);
		if (seize(tid, 0) < 0)
			return explain_refusal(pid, tid, e);
		t.is_filtered = proc_status_number(tid, "Seccomp", 10, 0) != 0;
	}
	*ret = t;
	return 0;
}

int tracee_seize_to_read(struct tracee *ret, pid_t pid, pid_t tid, struct err *e)
{
	if (seize(tid, 0) < 0)
		return errno == ESRCH ? err_set(e, -ESRCH, "thread %d has ended", (int)tid)
				      : explain_refusal(pid, tid, e);
	*ret = (struct tracee){ .pid = pid, .tid = tid, .state = TRACEE_SEIZED, .children = -1 };
	return 0;
}

void tracee_interrupt(struct tracee *t)
{
	if (t->state == TRACEE_SEIZED && ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0 &&
	    errno == ESRCH)
		t->state = TRACEE_GONE;
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* Handles one status of waitpid(2). */
static void handle_status(struct tracee *t, int status)
{
	int sig = WSTOPSIG(status);

	if (!WIFSTOPPED(status)) {
		t->state = TRACEE_GONE;
	} else if (status >> 16 == PTRACE_EVENT_STOP) {
		t->state = TRACEE_STOPPED;
		t->is_group_stopped = is_stop_signal(sig);
	} else {
		/* A signal for the job: deliver it; the stop follows. */
		ptrace(PTRACE_CONT, t->tid, NULL, (void *)(uintptr_t)(status >> 16 ? 0 : sig));
	}
}

void tracee_poll(struct tracee *t)
{
	while (t->state == TRACEE_SEIZED) {
		int status;
		pid_t got = waitpid(t->tid, &status, __WALL | WNOHANG);

		if (got == 0 || (got < 0 && errno == EINTR))
			return;
		if (got < 0)
			t->state = TRACEE_GONE; /* an exec by another thread replaced it */
		else
			handle_status(t, status);
	}
}

/* Would a pending signal have ended the wait anyway? */
static bool has_signal(const struct tracee *t)
{
	uint64_t pending = proc_status_number(t->tid, "SigPnd", 16, 0) |
			   proc_status_number(t->tid, "ShdPnd", 16, 0);
	/* The mask of the wait itself (ppoll, epoll_pwait), which PTRACE_GETSIGMASK does not
	 * report. */
	uint64_t blocked = proc_status_number(t->tid, "SigBlk", 16, 0);

	return (pending & ~blocked & proc_status_number(t->tid, "SigCgt", 16, 0)) != 0;
}

void tracee_detach(struct tracee *t)
{
	struct arch_regs regs;

	if (t->state != TRACEE_STOPPED)
		return;
	if (!t->is_group_stopped && !t->needs_no_restart && arch_read(t->tid, &regs) == 0 &&
	    arch_restart_call(&regs) && !has_signal(t))
		(void)!arch_write(t->tid, &regs);
	ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	t->state = TRACEE_GONE; /* no longer traced */
}
