/* SPDX-License-Identifier: MIT */
#include "inject/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "inject/arch.h"
#include "target/proc.h"

#define TICK_NS 50000 /* between looks at a thread that runs */

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

/* The signals that end the wait: one bit each. */
static uint64_t ending_signals(const struct tracee *t)
{
	/* The mask of the wait itself (ppoll, epoll_pwait), which PTRACE_GETSIGMASK does not
	 * report. */
	uint64_t blocked = proc_status_number(t->tid, "SigBlk", 16, 0);

	return proc_status_number(t->tid, "SigCgt", 16, 0) & ~blocked;
}

/* Would a pending signal have ended the wait anyway? */
static bool has_signal(const struct tracee *t)
{
	uint64_t pending = proc_status_number(t->tid, "SigPnd", 16, 0) |
			   proc_status_number(t->tid, "ShdPnd", 16, 0);

	return (pending & ending_signals(t)) != 0;
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

/* The next stop of a thread that runs, or its end. */
static bool wait_status(const struct tracee *t, int64_t until_ns, int *ret)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	pid_t got;

	while ((got = waitpid(t->tid, ret, __WALL | WNOHANG)) == 0 && clock_mono_ns() < until_ns)
		nanosleep(&tick, NULL);
	return got != 0;
}

/* It is in its call again, or a signal was faster: then the call ends as it would have. */
static void detach_at(const struct tracee *t, int status, const struct arch_regs *ended,
		      const struct arch_regs *restarted, uint64_t ending)
{
	int sig = status >> 16 ? 0 : WSTOPSIG(status);
	struct arch_regs now;

	if (arch_read(t->tid, &now) < 0 || arch_ip(&now) != arch_ip(restarted))
		sig = 0;
	else if (!sig || ending >> (sig - 1) & 1)
		(void)!arch_write(t->tid, ended);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(uintptr_t)sig);
}

bool tracee_detach_in_call(struct tracee *t, int64_t until_ns)
{
	struct arch_regs ended, restarted;
	uint64_t ending;
	int status;

	if (t->state != TRACEE_STOPPED || t->is_group_stopped || arch_read(t->tid, &ended) < 0) {
		tracee_detach(t);
		return true;
	}
	restarted = ended;
	ending = ending_signals(t);
	if (!arch_restart_call(&restarted) || has_signal(t) || arch_write(t->tid, &restarted) < 0 ||
	    ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) < 0) {
		t->needs_no_restart = true;
		tracee_detach(t);
		return true;
	}
	t->state = TRACEE_SEIZED;
	if (!wait_status(t, until_ns, &status))
		return false;
	if (WIFSTOPPED(status))
		detach_at(t, status, &ended, &restarted, ending);
	t->state = TRACEE_GONE;
	return true;
}
