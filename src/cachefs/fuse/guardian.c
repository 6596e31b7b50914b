/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/fd.h"
#include "base/file.h"
#include "cachefs/fuse/connection.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/fuse/unmount.h"

#define COMM "auger-guardian"

/* What the daemon sends. */
struct message {
	uint64_t device; /* of the view; 0: the daemon is ending it */
};

/* The guardian's own. */
struct watch {
	const char *view;
	pid_t daemon;
	int messages;   /* -1: the daemon has closed its end */
	int deaths;     /* a signalfd */
	int connection; /* see connection.h */
	dev_t device;   /* 0: not mounted yet */
	int timeout_ms; /* until it ends the view in any case; -1: none */
};

/* Has the daemon's main thread exited? One failure to read that does not matter. */
static bool has_exited(pid_t daemon)
{
	return getppid() != daemon || mounted_is_exiting(daemon) || mounted_is_exiting(daemon);
}

static void receive(struct watch *w)
{
	struct message m;
	ssize_t n = read(w->messages, &m, sizeof m);

	if (n == 0 && !has_exited(w->daemon))
		_exit(0); /* guardian_stop */
	if (n != (ssize_t)sizeof m) {
		fd_close(&w->messages);
		w->messages = -1;
	} else if (m.device) {
		w->device = (dev_t)m.device;
		w->connection = connection_open(w->device);
	} else {
		w->timeout_ms = GUARDIAN_END_MS;
	}
}

/* Returns when the view must end. */
static void wait_for_death(struct watch *w)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = w->messages, .events = POLLIN },
					{ .fd = w->deaths, .events = POLLIN } };
		struct signalfd_siginfo death;
		int n = poll(fds, ARRAY_LEN(fds), w->timeout_ms);

		if (n == 0)
			return;
		if (fds[0].revents)
			receive(w);
		if (fds[1].revents && read(w->deaths, &death, sizeof death) < 0 && errno == EBADF)
			return;
		if (has_exited(w->daemon))
			return;
	}
}

/* Its starter's pipes and terminal must not wait for the guardian, and it may not pin a folder. */
static int isolate(int messages)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || chdir("/") < 0 || setsid() < 0)
		return -1;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	compat_close_range(STDERR_FILENO + 1, (unsigned)messages - 1);
	compat_close_range((unsigned)messages + 1, UINT_MAX);
	return 0;
}

/* SIGUSR1 arrives when the main thread of the daemon has ended. All signals are blocked. */
static int receive_deaths(void)
{
	sigset_t deaths;

	sigemptyset(&deaths);
	sigaddset(&deaths, SIGUSR1);
	if (prctl(PR_SET_PDEATHSIG, SIGUSR1) < 0)
		return -1;
	return signalfd(-1, &deaths, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* For ps(1), which shows the daemon's command line otherwise. Source: proc(5), /proc/PID/stat:
 * fields 48 and 49, arg_start and arg_end; the third one follows the name. */
static void set_command_line(const char *view)
{
	char text[1024];
	const char *at =
		file_read_start("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
	unsigned long long start, end;

	for (int field = 2; at && field < 48; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu %llu", &start, &end) != 2 || start >= end)
		return;
	memset((char *)(uintptr_t)start, 0, (size_t)(end - start));
	snprintf((char *)(uintptr_t)start, (size_t)(end - start), COMM " %s", view);
}

_Noreturn static void guard(const char *view, pid_t daemon, int messages)
{
	struct watch w = { .view = view, .daemon = daemon, .messages = messages };
	struct err e = { 0 };

	prctl(PR_SET_NAME, COMM);
	set_command_line(view);
	w.connection = w.timeout_ms = -1;
	if (isolate(messages) < 0)
		_exit(1);
	w.deaths = receive_deaths();
	if (w.deaths < 0)
		_exit(1);
	if (!has_exited(daemon)) /* it may have, before the prctl */
		wait_for_death(&w);
	connection_abort(w.connection);
	_exit(unmount_forced(view, daemon, w.device, &e) < 0 ? 1 : 0);
}

int guardian_start(struct guardian *g, const char *view, struct err *e)
{
	pid_t daemon = getpid(), pid;
	sigset_t all, before;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before); /* no signal may end it before it ignores them */
	pid = fork();
	if (pid == 0)
		guard(view, daemon, fds[0]);
	if (pid < 0)
		err_errno(e, "fork");
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return e->code;
	}
	*g = (struct guardian){ pid, fds[1] };
	return 0;
}

static void send_message(const struct guardian *g, uint64_t device)
{
	struct message m = { device };

	if (g->pid && write(g->fd, &m, sizeof m) < 0)
		return; /* EPIPE: it was killed, and SIGCHLD arrives */
}

void guardian_mounted(struct guardian *g, dev_t device)
{
	send_message(g, (uint64_t)device);
}

void guardian_ending(struct guardian *g)
{
	send_message(g, 0);
}

bool guardian_is_lost(struct guardian *g)
{
	if (!g->pid || waitpid(g->pid, NULL, WNOHANG) == 0)
		return false;
	fd_close(&g->fd);
	*g = (struct guardian){ .pid = 0 };
	return true;
}

void guardian_stop(struct guardian *g)
{
	if (!g->pid)
		return;
	fd_close(&g->fd);
	kill(g->pid, SIGKILL); /* it may be stopped; it is our child until waitpid */
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	*g = (struct guardian){ .pid = 0 };
}
