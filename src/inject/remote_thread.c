/* SPDX-License-Identifier: MIT */
#include "inject/remote_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "target/proc.h"

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

/* Missing in older libc headers. */
#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

#define TICK_NS 20000 /* between polls */

static uint64_t bit(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

static uint64_t next_mask(char **at, const char *key)
{
	const char *value = proc_line(at, key);

	return value ? strtoull(value, NULL, 16) : 0;
}

int remote_thread_choose_signal(pid_t pid)
{
	/* Ignored by default. Not SIGCONT: sending it has side effects. */
	static const int by_default[] = { SIGURG, SIGWINCH, SIGCHLD };
	char path[PROC_PATH], text[8192], *at = text;
	uint64_t pending, ignored, caught;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file_read_start(path, text, sizeof text);
	pending = next_mask(&at, "SigPnd:");
	pending |= next_mask(&at, "ShdPnd:");
	ignored = next_mask(&at, "SigIgn:");
	caught = next_mask(&at, "SigCgt:");
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
	struct remote_thread w = {
		.pid = pid,
		.tid = tid,
		.memory = memory,
		.resume = { .pid = pid, .tid = tid, .signal = signal, .policy = -1 }
	};
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

void remote_thread_leave(struct remote_thread *w, const unsigned char *trampoline)
{
	struct arch_resume old = w->resume;

	old.regs = w->saved;
	if (!arch_trampoline_read(trampoline, &old) || arch_write(w->tid, &old.regs) < 0)
		return;
	(void)!set_mask(w->tid, old.mask);
	remote_drop_priority(w->tid, old.policy);
	w->saved = w->resume.regs = old.regs;
	w->resume.mask = old.mask;
}

/* Registers first: a thread that resumes with them also restores its mask and its priority. */
static int divert(struct remote_thread *w, const struct arch_regs *regs, struct err *e)
{
	uint64_t mask = ~bit(w->resume.signal);
	int rc = arch_write(w->tid, regs);

	if (rc == 0) {
		if (!w->is_diverted)
			remote_raise_priority(w);
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

/* Waits for a change of the thread. 0, or -errno. */
static int wait_status(pid_t tid, int64_t until_ns, int *ret_status)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };

	for (;;) {
		pid_t got =
			waitpid(tid, ret_status, __WALL | (until_ns == INT64_MAX ? 0 : WNOHANG));

		if (got > 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0 && clock_mono_ns() >= until_ns)
			return -ETIME;
		if (got == 0)
			nanosleep(&tick, NULL);
	}
}

int remote_thread_await(struct remote_thread *w, int64_t until_ns, struct err *e)
{
	for (;;) {
		int status, sig, rc = wait_status(w->tid, until_ns, &status);

		if (rc < 0)
			return err_set(e, rc, "thread %d: %s", (int)w->tid, strerror(-rc));
		if (!WIFSTOPPED(status))
			return err_set(e, -ESRCH, "thread %d ended", (int)w->tid);
		sig = WSTOPSIG(status);
		/* An event: the job is stopped itself, and detaching restores that. */
		if (status >> 16 == 0 && is_ours(w, sig))
			return 0;
		if (status >> 16 == 0 &&
		    (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGSYS))
			return err_set(e, -EFAULT, "thread %d: signal %d in a remote call",
				       (int)w->tid, sig);
		if (ptrace(PTRACE_CONT, w->tid, NULL, NULL) < 0)
			return err_errno(e, "thread %d", (int)w->tid);
	}
}

int remote_thread_run_until(struct remote_thread *w, int64_t until_ns, struct err *e)
{
	if (ptrace(PTRACE_CONT, w->tid, NULL, NULL) < 0)
		return err_errno(e, "thread %d", (int)w->tid);
	return remote_thread_await(w, until_ns, e);
}

int remote_thread_run(struct remote_thread *w, struct err *e)
{
	return remote_thread_run_until(w, INT64_MAX, e);
}

/* The kernel shows a new thread to its tracer, and stops it before it runs. */
static int trace_clones(pid_t tid, bool is_on)
{
	unsigned long option = is_on ? PTRACE_O_TRACECLONE : 0;

	if (ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)(option | PTRACE_O_SUSPEND_SECCOMP)) < 0 &&
	    ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)option) < 0)
		return -errno;
	return 0;
}

/* Runs w until it reports its new thread. */
static int wait_child(const struct remote_thread *w, pid_t *ret, struct err *e)
{
	unsigned long tid;
	int status, rc;

	if (ptrace(PTRACE_CONT, w->tid, NULL, NULL) < 0)
		return err_errno(e, "thread %d", (int)w->tid);
	rc = wait_status(w->tid, INT64_MAX, &status);
	if (rc < 0)
		return err_set(e, rc, "thread %d: %s", (int)w->tid, strerror(-rc));
	if (!WIFSTOPPED(status) || status >> 16 != PTRACE_EVENT_CLONE ||
	    ptrace(PTRACE_GETEVENTMSG, w->tid, NULL, &tid) < 0)
		return err_set(e, -EAGAIN, "process %d cannot add a thread", (int)w->pid);
	rc = wait_status((pid_t)tid, INT64_MAX, &status);
	if (rc < 0 || !WIFSTOPPED(status))
		return err_set(e, -ESRCH, "thread %lu has ended", tid);
	*ret = (pid_t)tid;
	return 0;
}

int remote_thread_clone(struct remote_thread *w, uint64_t address, struct remote_thread *ret,
			struct err *e)
{
	struct arch_regs regs = w->saved;
	pid_t tid = 0;
	int rc = trace_clones(w->tid, true);

	if (rc < 0)
		return err_set(e, rc, "thread %d: %s", (int)w->tid, strerror(-rc));
	arch_enter_clone(&regs, address);
	if (divert(w, &regs, e) < 0)
		return e->code;
	rc = wait_child(w, &tid, e);
	if (rc == 0)
		rc = remote_thread_run(w, e);
	(void)!trace_clones(w->tid, false);
	if (rc < 0)
		return e->code;
	return remote_thread_init(ret, w->pid, tid, w->memory, w->resume.signal, e);
}

int remote_thread_end(struct remote_thread *w, int64_t until_ns)
{
	struct arch_regs regs = w->saved;
	int status;

	if (w->trampoline) { /* before it has one, the thread ends by itself */
		arch_enter_once(&regs, w->trampoline, SYS_exit, (uint64_t[6]){ 0 });
		(void)!arch_write(w->tid, &regs);
	}
	do {
		if (ptrace(PTRACE_CONT, w->tid, NULL, NULL) < 0 && errno == ESRCH)
			return 0;
		if (wait_status(w->tid, until_ns, &status) == -ETIME)
			return -ETIME;
	} while (WIFSTOPPED(status));
	return 0;
}

void remote_thread_restore(struct remote_thread *w)
{
	if (!w->is_diverted)
		return;
	remote_restore_priority(w);
	(void)!set_mask(w->tid, w->resume.mask);
	(void)!arch_write(w->tid, &w->saved);
	w->is_diverted = w->is_masked = false;
	if (w->got_signal)
		kill(w->pid, w->resume.signal);
}
