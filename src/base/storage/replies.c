/* SPDX-License-Identifier: MIT */
#include "base/storage/replies.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/file.h"
#include "base/macros.h"

#define SLICE_MS 20                 /* between two checks of a process */
#define PATIENCE_NS (30 * NS_PER_S) /* for a call that goes on and on */
#define END_MS 200                  /* for the end of a process that was killed */
#define LEFT_MAX 16                 /* processes whose end is still to be taken */

/* Processes that did not end when they were killed. */
static struct {
	pthread_mutex_t lock;
	pid_t pids[LEFT_MAX]; /* under lock; 0: free */
} left = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Waits for something, by proc(5): neither runs nor could. false, too, when that is unknown. */
static bool is_waiting(pid_t tid)
{
	char path[64], text[512];
	const char *end;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
	end = file_read_start(path, text, sizeof text) ? strrchr(text, ')') : NULL;
	return end && (strncmp(end, ") S", 3) == 0 || strncmp(end, ") D", 3) == 0);
}

/* pid: to be taken later; 0: takes those that can be. */
static void leave(pid_t pid)
{
	pthread_mutex_lock(&left.lock);
	for (size_t i = 0; i < LEFT_MAX; i++) {
		if (left.pids[i] && waitpid(left.pids[i], NULL, WNOHANG) != 0)
			left.pids[i] = 0;
		if (!left.pids[i]) {
			left.pids[i] = pid;
			pid = 0;
		}
	}
	pthread_mutex_unlock(&left.lock);
}

pid_t replies_wait_end(pid_t pid, int *ret_status, int ms)
{
	int64_t end_ns = clock_mono_ns() + (int64_t)ms * 1000000;
	struct pollfd end = { .fd = -1, .events = POLLIN };
	pid_t got;

	for (;;) {
		got = waitpid(pid, ret_status, WNOHANG);
		if (got != 0 || clock_mono_ns() >= end_ns)
			break;
		if (end.fd < 0)
			end.fd = compat_pidfd_open(pid); /* -1: poll(2) only waits */
		poll(&end, 1, SLICE_MS);
	}
	if (end.fd >= 0)
		close(end.fd);
	return got;
}

/* Descriptors below, between and above the two. */
static void close_all_but(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);

	if (a < 0 || b < 0)
		low = high;
	if (low > 0)
		compat_close_range(0, low - 1);
	if (high > low)
		compat_close_range(low + 1, high - 1);
	compat_close_range(high + 1, UINT_MAX);
}

static _Noreturn void run_child(unsigned char (*call)(const void *arg), const void *arg, int keep,
				int fd)
{
	unsigned char answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_all_but(keep, fd);
	answer = call(arg);
	_exit(write(fd, &answer, 1) == 1 ? 0 : 1);
}

/* The byte that it writes; -1: it does not. */
static int take_answer(pid_t pid, int fd, int ms)
{
	struct pollfd pipe_end = { .fd = fd, .events = POLLIN };
	struct replies_progress progress = { 0 };
	int64_t start_ns = clock_mono_ns();
	unsigned char answer;
	clockid_t clock;

	while (poll(&pipe_end, 1, SLICE_MS) <= 0)
		if (clock_getcpuclockid(pid, &clock) != 0 ||
		    replies_is_blocked(&progress, pid, clock, ms) ||
		    clock_mono_ns() - start_ns > PATIENCE_NS)
			return -1;
	return read(fd, &answer, 1) == 1 ? answer : -1;
}

/* The child's signals are blocked: what ends us is not for it. */
static pid_t fork_blocked(void)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid != 0)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int replies_within(unsigned char (*call)(const void *arg), const void *arg, int keep, int ms)
{
	int ends[2], answer;
	pid_t pid;

	leave(0);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return call(arg);
	pid = fork_blocked();
	if (pid == 0)
		run_child(call, arg, keep, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return call(arg);
	}
	answer = take_answer(pid, ends[0], ms);
	close(ends[0]);
	if (answer < 0)
		kill(pid, SIGKILL);
	if (replies_wait_end(pid, NULL, END_MS) == 0)
		leave(pid);
	return answer;
}

bool replies_is_blocked(struct replies_progress *p, pid_t tid, clockid_t clock, int ms)
{
	int64_t now_ns = clock_mono_ns();
	struct timespec used = { 0 };
	int64_t cpu_ns;

	if (clock_gettime(clock, &used) < 0)
		return false; /* it has ended */
	cpu_ns = (int64_t)used.tv_sec * NS_PER_S + used.tv_nsec;
	if (!p->from_ns || cpu_ns != p->cpu_ns) {
		*p = (struct replies_progress){ cpu_ns, now_ns };
		return false;
	}
	return now_ns - p->from_ns > (int64_t)ms * 1000000 && is_waiting(tid);
}
