/* SPDX-License-Identifier: MIT */
#include "frozen_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/freeze.h"

void nap_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

struct shared *shared;

pid_t start(int (*body)(void))
{
	pid_t pid;

	shared->is_ready = shared->stop = 0;
	shared->work = 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(body());
	}
	while (!shared->is_ready)
		nap_ms(1);
	return pid;
}

int finish(pid_t pid)
{
	int status;

	shared->stop = 1;
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool goes_on(void)
{
	long before = shared->work;

	for (int i = 0; i < 10000 && shared->work == before; i++)
		nap_ms(1);
	return shared->work != before;
}

bool call_getpid(struct remote *r, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		remote_add_step(r, &(struct remote_call){ .nr = SYS_getpid, .what = "getpid" });
	if (remote_run_steps(r, e) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (remote_result(r, i) != remote_pid(r))
			return false;
	return true;
}

bool visit(pid_t pid, int64_t *ret_pause_ns)
{
	struct freeze *h = NULL;
	struct remote *r = NULL;
	struct err e = { 0 };
	bool ok;

	if (freeze_begin(&h, &pid, 1, false, LIMIT_NS, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return false;
	}
	ok = remote_open(&r, h, pid, 1000, 65536, 0, &e) == 0 && call_getpid(r, 20, &e) &&
	     call_getpid(r, 1, &e) && remote_run_rollback(r, &e) == 0;
	remote_close(r);
	*ret_pause_ns = clock_mono_ns() - freeze_since_ns(h);
	freeze_thaw(h);
	if (!ok)
		fprintf(stderr, "%s\n", e.msg);
	return ok;
}

bool visit_often(const char *name, pid_t pid, int times, long between_ms)
{
	int64_t longest = 0, pause;

	for (int i = 0; i < times; i++) {
		if (!visit(pid, &pause))
			return false;
		longest = pause > longest ? pause : longest;
		nap_ms(between_ms);
	}
	printf("# %s: longest pause %.2f ms\n", name, (double)longest / 1e6);
	return true;
}
