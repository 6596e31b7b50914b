/* SPDX-License-Identifier: MIT */
#include "sample/python/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"

#define SENT_MAX 8 /* requests that the child has at a time */
#define WAIT_NS INT64_C(100000000)
#define REAP_TRIES 50
#define REAP_WAIT_NS 2000000

/* The ways to a file, the surest first. */
static void ask(const struct file_reader_request *r, struct python_file_info *info)
{
	char path[FILE_READER_PATH_MAX + 64];

	if (r->pid) {
		snprintf(path, sizeof path, "/proc/%u/map_files/%llx-%llx", r->pid,
			 (unsigned long long)r->start, (unsigned long long)r->end);
		if (python_file_read(path, info))
			return;
		snprintf(path, sizeof path, "/proc/%u/root%s", r->pid, r->path);
		if (python_file_read(path, info))
			return;
	}
	python_file_read(r->path, info);
}

static _Noreturn void serve(int fd)
{
	struct file_reader_request *r = malloc(sizeof *r);
	struct file_reader_reply reply;
	ssize_t n;

	while (r && (n = recv(fd, r, sizeof *r, 0)) > 0) {
		memset(&reply, 0, sizeof reply);
		reply.number = r->number;
		r->path[FILE_READER_PATH_MAX - 1] = '\0';
		ask(r, &reply.info);
		if (send(fd, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

#define SOCKET 0 /* of the child, its only descriptor */

/* The child keeps nothing of the recorder's: its events, rings and pipes would live on with a child
 * that hangs. */
static void close_others(int fd)
{
	struct rlimit limit = { .rlim_cur = 1024 };

	if (fd != SOCKET && dup2(fd, SOCKET) != SOCKET)
		_exit(1);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, SOCKET + 1u, ~0u, 0u) == 0)
		return;
#endif
	getrlimit(RLIMIT_NOFILE, &limit);
	for (rlim_t i = SOCKET + 1; i < limit.rlim_cur && i < 1 << 20; i++)
		close((int)i);
}

/* Ends with the recorder, and not by what the terminal sends to all of its processes. */
static _Noreturn void run_child(int fd, pid_t parent)
{
	const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close_others(fd);
	serve(SOCKET);
}

static bool start(struct file_reader *a)
{
	int fds[2];
	pid_t self = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return false;
	a->child = fork();
	if (a->child == 0)
		run_child(fds[1], self);
	close(fds[1]);
	if (a->child < 0) {
		close(fds[0]);
		return false;
	}
	a->fd = fds[0];
	a->is_running = true;
	a->sent = a->first;
	return true;
}

/* A child that hangs in the kernel is not waited for: it is the init process' when we end. */
static void stop(struct file_reader *a)
{
	const struct timespec pause = { .tv_nsec = REAP_WAIT_NS };

	if (!a->is_running)
		return;
	close(a->fd);
	kill(a->child, SIGKILL);
	for (unsigned i = 0; i < REAP_TRIES && waitpid(a->child, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
	a->is_running = false;
}

void file_reader_fini(struct file_reader *a)
{
	stop(a);
	rows_fini(&a->queue);
	*a = (struct file_reader){ 0 };
}

int file_reader_put(struct file_reader *a, const struct file_reader_request *r)
{
	struct file_reader_request *last, *first = a->queue.data;

	if (a->first) { /* what has replied makes room */
		memmove(first, first + a->first, (a->queue.count - a->first) * sizeof *first);
		a->queue.count -= a->first;
		a->sent -= a->first;
		a->first = 0;
	}
	last = a->queue.count < FILE_READER_QUEUE_MAX ? rows_add(&a->queue, sizeof *last) : NULL;
	if (!last)
		return -ENOMEM;
	*last = *r;
	first = (struct file_reader_request *)a->queue.data + a->sent;
	if (first < last && strstr(path_base(r->path), "python")) {
		*last = *first;
		*first = *r;
	}
	return 0;
}

bool file_reader_is_busy(const struct file_reader *a)
{
	return a->first < a->queue.count;
}

static void send_more(struct file_reader *a)
{
	const struct file_reader_request *all = a->queue.data;

	while (a->sent < a->queue.count && a->sent < a->first + SENT_MAX &&
	       send(a->fd, &all[a->sent],
		    offsetof(struct file_reader_request, path) + strlen(all[a->sent].path) + 1,
		    MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
		if (a->sent == a->first)
			a->sent_ns = clock_mono_ns();
		a->sent++;
	}
}

/* The reply to the first request. */
static void take_turn(struct file_reader *a)
{
	a->first++;
	a->sent_ns = clock_mono_ns();
	if (a->first == a->queue.count)
		a->first = a->sent = a->queue.count = 0;
}

/* The first request gets no reply: its file has no CPython. */
static bool give_up(struct file_reader *a, struct file_reader_reply *ret)
{
	const struct file_reader_request *r =
		(const struct file_reader_request *)a->queue.data + a->first;

	*ret = (struct file_reader_reply){ .number = r->number };
	if (a->losses < FILE_READER_LOSSES_MAX)
		a->losses++;
	if (a->losses == FILE_READER_LOSSES_MAX)
		log_msg(LOG_WARN, "python",
			"no more files are looked at for Python: %s did not reply", r->path);
	stop(a);
	take_turn(a);
	return true;
}

bool file_reader_poll(struct file_reader *a, struct file_reader_reply *ret)
{
	ssize_t n;

	if (!file_reader_is_busy(a))
		return false;
	if (a->losses == FILE_READER_LOSSES_MAX || (!a->is_running && !start(a)))
		return give_up(a, ret);
	send_more(a);
	n = recv(a->fd, ret, sizeof *ret, MSG_DONTWAIT);
	if (n == (ssize_t)sizeof *ret) {
		take_turn(a);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR) &&
	    clock_mono_ns() - a->sent_ns < FILE_READER_TIMEOUT_NS)
		return false;
	return give_up(a, ret);
}

bool file_reader_wait(struct file_reader *a, int64_t timeout_ns, struct file_reader_reply *ret)
{
	int64_t end = clock_mono_ns() + timeout_ns, left;

	while (file_reader_is_busy(a)) {
		struct pollfd fd = { .events = POLLIN };

		if (file_reader_poll(a, ret))
			return true;
		left = end - clock_mono_ns();
		if (left <= 0)
			return false;
		fd.fd = a->fd;
		left = left < WAIT_NS ? left
				      : WAIT_NS; /* file_reader_poll() has a time-out of its own */
		poll(&fd, 1, (int)(left / 1000000) + 1);
	}
	return false;
}
