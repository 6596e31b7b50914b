/* SPDX-License-Identifier: MIT */
#include "base/compat/compat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define POLL_MS 20 /* between two checks of a process without pidfd */

/* Container runtimes whose seccomp profile is older than a call refuse it with EPERM. */
static bool is_missing(int error)
{
	return error == ENOSYS || error == EPERM;
}

void compat_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
}

int compat_sem_wait_until(sem_t *s, int64_t until_ns)
{
	int64_t wall_ns = clock_wall_ns() + (until_ns - clock_mono_ns());
	struct timespec until = { .tv_sec = wall_ns / NS_PER_S, .tv_nsec = wall_ns % NS_PER_S };

	return sem_timedwait(s, &until);
}

/* In batches: /proc/self/fd may leave out entries when descriptors are closed between two reads. */
static void close_listed(unsigned first, unsigned last)
{
	int fds[256], count;

	do {
		DIR *dir = opendir("/proc/self/fd");

		if (!dir)
			return;
		count = 0;
		for (const struct dirent *d; count < 256 && (d = readdir(dir));) {
			char *end;
			unsigned long fd = strtoul(d->d_name, &end, 10);

			if (end != d->d_name && fd >= first && fd <= last && (int)fd != dirfd(dir))
				fds[count++] = (int)fd;
		}
		closedir(dir);
		for (int i = 0; i < count; i++)
			close(fds[i]);
	} while (count == 256);
}

void compat_close_range(unsigned first, unsigned last)
{
	if (first <= last && syscall(SYS_close_range, first, last, 0) < 0)
		close_listed(first, last);
}

/* What the kernel does with a path and RESOLVE_NO_SYMLINKS, for one component. */
static int open_component(int at, const char *name, const struct open_how *how, bool is_last)
{
	int flags = is_last ? (int)how->flags : O_PATH | O_CLOEXEC;
	int fd = openat(at, name, flags | O_NOFOLLOW, (mode_t)how->mode);
	bool may_be_link = is_last && flags & O_NOFOLLOW;
	struct stat before, is;
	int error = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &is) < 0)
		error = errno;
	else if (S_ISLNK(is.st_mode) && !may_be_link)
		error = ELOOP;
	else if (how->resolve & RESOLVE_NO_XDEV && fstat(at, &before) == 0 &&
		 before.st_dev != is.st_dev)
		error = EXDEV;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

static int open_next(int at, const char **path, const struct open_how *how)
{
	size_t len = strcspn(*path, "/");
	bool is_last = (*path)[len] == '\0';
	char name[NAME_MAX + 1];

	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name, *path, len);
	name[len] = '\0';
	*path = is_last ? NULL : *path + len + 1;
	if (how->resolve & RESOLVE_BENEATH && strcmp(name, "..") == 0) {
		errno = EXDEV;
		return -1;
	}
	return open_component(at, len ? name : ".", how, is_last);
}

static int open_by_component(int dir, const char *path, const struct open_how *how)
{
	int at = dir;

	if (how->resolve & RESOLVE_BENEATH && path[0] == '/') {
		errno = EXDEV;
		return -1;
	}
	do {
		int next = open_next(at, &path, how), error = errno;

		if (at != dir)
			close(at);
		errno = error;
		at = next;
	} while (path && at >= 0);
	return at;
}

int compat_openat2(int dir, const char *path, const struct open_how *how)
{
	long fd = syscall(SYS_openat2, dir, path, how, sizeof *how);

	if (fd < 0 && (is_missing(errno) || errno == ENAMETOOLONG))
		return open_by_component(dir, path, how);
	return (int)fd;
}

/* A folder is searched for ".", in the second part of the path. */
static int access_by_calls(int fd, const struct stat *attr, int wanted)
{
	bool is_folder = S_ISDIR(attr->st_mode);
	bool is_file = S_ISREG(attr->st_mode) && (!(wanted & X_OK) || attr->st_mode & 0111);
	char path[32];
	struct stat st;
	int opened;

	if (wanted & W_OK || (!is_folder && !is_file)) {
		errno = EACCES;
		return -1;
	}
	if (is_folder && wanted & X_OK && fstatat(fd, "./.", &st, 0) < 0)
		return -1;
	if (is_folder && !(wanted & R_OK))
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (opened < 0)
		return -1;
	close(opened);
	return 0;
}

int compat_access(int fd, const struct stat *attr, int wanted)
{
	long rc = syscall(SYS_faccessat2, fd, "", wanted, AT_EACCESS | AT_EMPTY_PATH);

	return rc < 0 && is_missing(errno) ? access_by_calls(fd, attr, wanted) : (int)rc;
}

/* A process that a thread polls, and the end of a pipe that it closes. */
struct watched_process {
	pid_t pid;
	int fd;
	uint64_t start; /* proc(5), field 22 of /proc/PID/stat: the number may be used again */
};

/* False: there is no such process. */
static bool read_stat(pid_t pid, char *ret_state, uint64_t *ret_start)
{
	char path[64], text[512];
	const char *end;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	end = file_read_start(path, text, sizeof text) ? strrchr(text, ')') : NULL;
	return end && sscanf(end + 1,
			     " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			     "%*d %*d %" SCNu64,
			     ret_state, ret_start) == 2;
}

static void *poll_process(void *arg)
{
	struct watched_process *w = arg;
	struct pollfd pipe_end = { .fd = w->fd };
	uint64_t start;
	char state;

	/* Nobody reads the pipe any more: an error is reported for this end. */
	while (read_stat(w->pid, &state, &start) && start == w->start && state != 'Z' &&
	       state != 'X' && poll(&pipe_end, 1, POLL_MS) == 0)
		;
	close(w->fd);
	free(w);
	return NULL;
}

/* Signals go to other threads. */
static int start_thread(struct watched_process *w)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, poll_process, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

static int open_pipe(pid_t pid)
{
	struct watched_process *w = calloc(1, sizeof *w);
	int ends[2], error = ENOMEM;
	char state;

	if (!w)
		goto fail;
	error = ESRCH;
	if (!read_stat(pid, &state, &w->start))
		goto fail;
	error = pipe2(ends, O_CLOEXEC) < 0 ? errno : 0;
	if (error)
		goto fail;
	w->pid = pid;
	w->fd = ends[1];
	error = start_thread(w);
	if (!error)
		return ends[0];
	close(ends[0]);
	close(ends[1]);
fail:
	free(w);
	errno = error;
	return -1;
}

int compat_pidfd_open(pid_t pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 && is_missing(errno) ? open_pipe(pid) : (int)fd;
}

int compat_pidfd_kill(int pidfd, pid_t pid, int signal)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0)
		return 0;
	if (!is_missing(errno) && errno != EBADF)
		return -1;
	if (poll(&end, 1, 0) != 0) { /* it has ended: the number may be another's */
		errno = ESRCH;
		return -1;
	}
	return kill(pid, signal);
}
