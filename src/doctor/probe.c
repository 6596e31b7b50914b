/* SPDX-License-Identifier: MIT */
#include "doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const doctor_states[] = { "works", "partly", "fails" };

void doctor_report(struct doctor_finding *f, enum doctor_state state, const char *remedy,
		   const char *fmt, ...)
{
	va_list args;

	f->state = state;
	snprintf(f->remedy, sizeof f->remedy, "%s", remedy);
	va_start(args, fmt);
	vsnprintf(f->found, sizeof f->found, fmt, args);
	va_end(args);
	err_clean(f->found);
	err_clean(f->remedy);
}

void doctor_report_failure(struct doctor_finding *f, const struct err *e)
{
	static const char before[] = "; needs ";
	const char *remedy = strstr(e->msg, before);

	if (remedy)
		doctor_report(f, DOCTOR_FAILS, remedy + strlen(before), "%.*s",
			      (int)(remedy - e->msg), e->msg);
	else
		doctor_report(f, DOCTOR_FAILS, "", "%s", e->msg);
}

bool doctor_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	text[0] = '\0';
	if (fd < 0)
		return false;
	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fd);
	return n >= 0;
}

bool doctor_has_program(const char *name)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	while (at && *at) {
		size_t len = strcspn(at, ":");

		snprintf(path, sizeof path, "%.*s/%s", (int)len, at, name);
		if (access(path, X_OK) == 0)
			return true;
		at += len;
		at += *at == ':';
	}
	return false;
}

/* false: the deadline has passed. */
static bool drain(int fd, char *text, size_t size)
{
	int64_t until = clock_mono_ns() + DOCTOR_TIMEOUT_NS;
	size_t len = 0;

	text[0] = '\0';
	for (;;) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int64_t left = until - clock_mono_ns();
		char rest[512];
		ssize_t n;

		if (left <= 0 || poll(&wait, 1, (int)(left / 1000000) + 1) < 0)
			return false;
		if (!wait.revents)
			continue;
		n = len < size - 1 ? read(fd, text + len, size - 1 - len)
				   : read(fd, rest, sizeof rest);
		if (n <= 0)
			return true;
		if (len < size - 1)
			text[len += (size_t)n] = '\0';
	}
}

/* Kills the whole group: the child may have children of its own. */
static int reap(pid_t pid, bool is_late)
{
	int status = 0;

	if (is_late)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return is_late || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

/* Forks a child in a process group of its own, with a pipe to us as its descriptor to. 0 in the
 * child. */
static pid_t fork_piped(int to, int *ret_fd)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		if (to >= 0)
			dup2(ends[1], to);
		close(ends[0]);
		return 0;
	}
	setpgid(pid, pid);
	close(ends[1]);
	*ret_fd = ends[0];
	if (pid < 0)
		close(ends[0]);
	return pid;
}

static _Noreturn void run_program(const char *const *argv)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
	}
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

int doctor_run(const char *const *argv, char *text, size_t size)
{
	int fd = -1, status;
	pid_t pid = fork_piped(STDOUT_FILENO, &fd);

	text[0] = '\0';
	if (pid == 0)
		run_program(argv);
	if (pid < 0)
		return -1;
	status = reap(pid, !drain(fd, text, size));
	close(fd);
	return status;
}

int doctor_run_child(int (*call)(void))
{
	char nothing[1];
	int fd = -1, status;
	pid_t pid = fork_piped(-1, &fd);

	if (pid == 0)
		_exit(call());
	if (pid < 0)
		return 255;
	status = reap(pid, !drain(fd, nothing, sizeof nothing));
	close(fd);
	return status < 0 ? 255 : status;
}
