/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "frozen_job.h"

/* Each thread waits in one kind of system call all the time. */
#define WAIT_MS 400

static int pipe_fds[2], sockets[2], sem, epfd, lock_fds[2];
static uint32_t futex_word;

static long wait_pipe(void)
{
	char c;

	return read(pipe_fds[0], &c, 1);
}

static long wait_nanosleep(void)
{
	return nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, NULL);
}

static long wait_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += WAIT_MS * 1000000;
	t.tv_sec += t.tv_nsec / NS_PER_S;
	t.tv_nsec %= NS_PER_S;
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return errno ? -1 : 0;
}

static long wait_poll(void)
{
	return poll(&(struct pollfd){ .fd = sockets[0], .events = POLLIN }, 1, WAIT_MS);
}

static long wait_select(void)
{
	return select(0, NULL, NULL, NULL, &(struct timeval){ .tv_usec = WAIT_MS * 1000 });
}

static long wait_ppoll(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	return ppoll(NULL, 0, &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, &mask);
}

static long wait_futex(void)
{
	long rc = syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0,
			  &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 });

	return rc < 0 && errno == ETIMEDOUT ? 0 : rc;
}

static long wait_epoll(void)
{
	struct epoll_event ev;

	return epoll_wait(epfd, &ev, 1, WAIT_MS);
}

static long wait_semop(void)
{
	struct sembuf op = { .sem_op = -1 };
	long rc = semtimedop(sem, &op, 1, &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 });

	return rc < 0 && (errno == EAGAIN || errno == EIDRM) ? 0 : rc;
}

static long wait_signal(void)
{
	sigset_t set;
	long rc;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	rc = sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 });
	return rc < 0 && errno == EAGAIN ? 0 : rc;
}

static long wait_recv(void)
{
	char c;
	long rc = recv(sockets[0], &c, 1, 0);

	return rc < 0 && errno == EAGAIN ? 0 : rc;
}

static long wait_flock(void)
{
	return flock(lock_fds[1], LOCK_EX);
}

static long wait_lockw(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(lock_fds[1], F_OFD_SETLKW, &l);
}

static const struct wait_kind {
	const char *name;
	long (*wait)(void);
	bool is_timed; /* it ends by itself after WAIT_MS */
	bool restarts; /* its timeout starts again after a stop (signal(7)) */
} kinds[] = {
	{ "read of a pipe", wait_pipe, false, false },
	{ "nanosleep", wait_nanosleep, true, false },
	{ "clock_nanosleep", wait_clock, true, false },
	{ "poll", wait_poll, true, false },
	{ "select", wait_select, true, false },
	{ "ppoll", wait_ppoll, true, false },
	{ "futex", wait_futex, true, false },
	{ "epoll_wait", wait_epoll, true, true },
	{ "semtimedop", wait_semop, true, true },
	{ "sigtimedwait", wait_signal, true, true },
	{ "recv", wait_recv, true, true },
	{ "flock", wait_flock, false, false },
	{ "F_OFD_SETLKW", wait_lockw, false, false },
};

static _Atomic int report_change;

static void *sleeper(void *arg)
{
	const struct wait_kind *k = arg;

	while (!shared->stop) {
		int64_t t0 = clock_mono_ns();
		long rc = k->wait();
		int64_t ms = (clock_mono_ns() - t0) / 1000000;

		if (rc < 0 || (k->is_timed && ms < WAIT_MS - 1)) {
			fprintf(stderr, "%s: %s after %lld ms\n", k->name,
				rc < 0 ? strerror(errno) : "ended", (long long)ms);
			report_change++;
		}
		shared->work++;
	}
	return NULL;
}

int sleepers(void)
{
	struct timeval wait = { .tv_usec = WAIT_MS * 1000 };
	const char *folder = getenv("TMPDIR");
	char name[256];
	sigset_t set;
	pthread_t t[ARRAY_LEN(kinds)];

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	snprintf(name, sizeof name, "%s/auger-test-XXXXXX", folder ? folder : "/tmp");
	lock_fds[0] = mkstemp(name);
	lock_fds[1] = open(name, O_RDWR);
	unlink(name);
	flock(lock_fds[0], LOCK_EX);
	fcntl(lock_fds[0], F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK });
	sem = semget(IPC_PRIVATE, 1, 0600);
	epfd = epoll_create1(0);
	if (pipe(pipe_fds) < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) < 0)
		return 1;
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		pthread_create(&t[i], NULL, sleeper, (void *)(uintptr_t)&kinds[i]);
	nap_ms(50);
	shared->is_ready = 1;
	while (!shared->stop)
		nap_ms(10);
	semctl(sem, 0, IPC_RMID); /* from here on its waiter may see EIDRM */
	return report_change;
}
