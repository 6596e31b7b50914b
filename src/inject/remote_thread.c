/* SPDX-License-Identifier: MIT */
#include "inject/remote_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/proc.h"

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

static uint64_t bit(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

int remote_thread_choose_signal(pid_t pid)
{
	/* Ignored by default. Not SIGCONT: sending it has side effects. */
	static const int by_default[] = { SIGURG, SIGWINCH, SIGCHLD };
	uint64_t pending =
		proc_status_number(pid, "SigPnd", 16, 0) | proc_status_number(pid, "ShdPnd", 16, 0);
	uint64_t caught = proc_status_number(pid, "SigCgt", 16, 0);
	uint64_t ignored = proc_status_number(pid, "SigIgn", 16, 0);

	for (size_t i = 0; i < ARRAY_LEN(by_default); i++)
		if (!((pending | caught) & bit(by_default[i])))
			return by_default[i];
	for (int sig = 1; sig < SIGSYS; sig++)
		if (ignored & ~pending & bit(sig) && sig != SIGCONT)
			return sig;
	return SIGURG; /* if we die during a call, its handler runs once */
}

static int get_mask(pid_t tid, uint64_t *ret)
{
	return ptrace((enum __ptrace_request)PTRACE_GETSIGMASK, tid, (void *)sizeof *ret, ret) < 0
		       ? -errno
		       : 0;
}

static int set_mask(pid_t tid, uint64_t mask)
{
	return ptrace((enum __ptrace_request)PTRACE_SETSIGMASK, tid, (void *)sizeof mask, &mask) < 0
		       ? -errno
		       : 0;
}

/* After a stop in a restartable sequence the kernel continues at its abort handler. It would not do
 * so for a thread that continues in our code, so this function does it. */
static void abort_rseq(struct remote_thread *w)
{
	struct {
		uint64_t rseq;
		uint32_t size, signature, flags, pad;
	} config;
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} cs;
	const uint64_t none = 0;
	uint64_t at, ip = arch_ip(&w->saved);

	if (ptrace((enum __ptrace_request)PTRACE_GET_RSEQ_CONFIGURATION, w->tid,
		   (void *)sizeof config, &config) < (long)sizeof config - 4 ||
	    !config.rseq)
		return;
	if (pread(w->memory, &at, sizeof at, (off_t)config.rseq + 8) != sizeof at || !at ||
	    pread(w->memory, &cs, sizeof cs, (off_t)at) != sizeof cs)
		return;
	if (ip - cs.start < cs.length &&
	    pwrite(w->memory, &none, sizeof none, (off_t)config.rseq + 8) == sizeof none)
		arch_set_ip(&w->saved, cs.abort);
}

int remote_thread_init(struct remote_thread *ret, pid_t pid, pid_t tid, int memory, int signal,
		       struct err *e)
{
	struct remote_thread w = { .pid = pid,
				   .tid = tid,
				   .memory = memory,
				   .resume = { .pid = pid, .tid = tid, .signal = signal } };
	int rc = arch_read(tid, &w.saved);

	if (rc == 0)
		rc = get_mask(tid, &w.resume.mask);
	if (rc < 0)
		return err_set(e, rc, "thread %d: registers: %s", (int)tid, strerror(-rc));
	if (!arch_is_native(&w.saved))
		return err_set(e, -ENOTSUP, "process %d runs 32-bit code", (int)pid);
	if (!arch_is_in_call(&w.saved)) /* a restartable sequence makes no calls */
		abort_rseq(&w);
	w.resume.regs = w.saved;
	arch_prepare_restart(&w.resume.regs);
	*ret = w;
	return 0;
}

void remote_thread_fill_trampoline(const struct remote_thread *w, unsigned char *trampoline)
{
	arch_trampoline_fill(trampoline, &w->resume);
}

/* Registers first: a thread that resumes with them also restores its mask. */
static int divert(struct remote_thread *w, const struct arch_regs *regs, struct err *e)
{
	uint64_t mask = ~bit(w->resume.signal);
	int rc = arch_write(w->tid, regs);

	if (rc == 0) {
		w->is_diverted = true;
		if (!w->is_masked)
			rc = set_mask(w->tid, mask);
		w->is_masked = true;
	}
	if (rc < 0)
		return err_set(e, rc, "thread %d: setting registers: %s", (int)w->tid,
			       strerror(-rc));
	return 0;
}

int remote_thread_enter_lists(struct remote_thread *w, uint64_t address, uint64_t control,
			      struct err *e)
{
	struct arch_regs regs = w->saved;

	arch_enter_lists(&regs, address, control);
	return divert(w, &regs, e);
}

int remote_thread_call_once(struct remote_thread *w, uint64_t address, long nr,
			    const uint64_t arg[6], int64_t *ret_result, struct err *e)
{
	struct arch_regs regs = w->saved;

	arch_enter_once(&regs, address, nr, arg);
	if (divert(w, &regs, e) < 0 || remote_thread_run(w, e) < 0)
		return e->code;
	if (arch_read(w->tid, &regs) < 0)
		return err_set(e, -ESRCH, "thread %d has ended", (int)w->tid);
	*ret_result = arch_once_result(&regs);
	return 0;
}

/* Is this the stop at the end of a list? */
static bool is_ours(struct remote_thread *w, int sig)
{
	siginfo_t info;

	if (sig != w->resume.signal)
		return false;
	if (ptrace(PTRACE_GETSIGINFO, w->tid, NULL, &info) == 0 && info.si_code == SI_TKILL)
		return true;
	w->got_signal = true;
	return false;
}

int remote_thread_run(struct remote_thread *w, struct err *e)
{
	for (;;) {
		int status, sig;

		if (ptrace(PTRACE_CONT, w->tid, NULL, NULL) < 0)
			return err_errno(e, "thread %d", (int)w->tid);
		while (waitpid(w->tid, &status, __WALL) < 0)
			if (errno != EINTR)
				return err_errno(e, "thread %d", (int)w->tid);
		if (!WIFSTOPPED(status))
			return err_set(e, -ESRCH, "thread %d ended", (int)w->tid);
		sig = WSTOPSIG(status);
		if (status >> 16)
			continue; /* the job is stopped itself; detaching restores that */
		if (is_ours(w, sig))
			return 0;
		if (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGSYS)
			return err_set(e, -EFAULT, "thread %d: signal %d in a remote call",
				       (int)w->tid, sig);
	}
}

void remote_thread_restore(struct remote_thread *w)
{
	if (!w->is_diverted)
		return;
	(void)!set_mask(w->tid, w->resume.mask);
	(void)!arch_write(w->tid, &w->saved);
	w->is_diverted = w->is_masked = false;
	if (w->got_signal)
		kill(w->pid, w->resume.signal);
}
