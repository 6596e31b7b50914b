/* SPDX-License-Identifier: MIT */
/* ptrace_seize: makes threads that run into tracees. */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/privilege.h"
#include "syscalls/ptrace_internal.h"
#include "target/proc.h"

static long options(const struct tracer *t)
{
	return PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
	       (t->has_filter ? PTRACE_O_TRACESECCOMP : 0);
}

static int explain(int code, pid_t pid, struct err *e)
{
	if (privilege_is_filtered(SYS_ptrace))
		return err_set(e, code,
			       "a seccomp filter refuses ptrace(2); needs a container with 'docker "
			       "run --cap-add SYS_PTRACE'");
	if (code == -EPERM)
		return err_set(e, code,
			       "process %d may not be traced: it is another user's or is traced "
			       "already, or kernel.yama.ptrace_scope forbids it",
			       (int)pid);
	return err_set(e, code, "process %d: %s", (int)pid, strerror(-code));
}

int tracer_seize(struct tracer *t, pid_t tid, struct err *e)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)options(t)) < 0)
		return explain(-errno, tid, e);
	return tracer_add(t, tid) ? 0 : err_nomem(e);
}

/* Seizes all threads not seized yet; *ret_added: how many. */
static int seize_threads(struct tracer *t, pid_t pid, size_t *ret_added, struct err *e)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	uint32_t tid;

	*ret_added = 0;
	if (proc_open_threads("/proc", (uint32_t)pid, &dir) < 0)
		return err_nomem(e);
	while (proc_next(dir, &tid)) {
		struct tracee *tracee;
		int rc;

		if (tracer_find(t, (pid_t)tid))
			continue;
		rc = tracer_seize(t, (pid_t)tid, e);
		if (rc == -ESRCH)
			continue;
		if (rc < 0)
			return rc;
		tracee = tracer_find(t, (pid_t)tid);
		tracer_follow(t, tracee, 0);
		ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL);
		++*ret_added;
	}
	return 0;
}

int tracer_seize_process(struct tracer *t, pid_t pid, struct err *e)
{
	size_t added, total = 0;
	int rc;

	do {
		rc = seize_threads(t, pid, &added, e);
		total += added;
	} while (rc == 0 && added);
	if (rc == 0 && total == 0)
		rc = err_set(e, -ESRCH, "process %d does not exist", (int)pid);
	return rc;
}
