/* SPDX-License-Identifier: MIT */
/*
 * watch: waiting for whatever comes first: a ring that fills up, the end of a process, a
 * signal to us, or a time.
 *
 * From watch_open() on SIGINT, SIGTERM and SIGHUP come by watch_wait() and interrupt
 * nothing; SIGPIPE is held back. watch_close() gives them back.
 */
#ifndef TARGET_WATCH_H
#define TARGET_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

enum watch_kind {
	WATCH_RING,
	WATCH_BPF_RING, /* what is in it is no news, only that it fills up */
	WATCH_COMMAND,  /* ended */
	WATCH_PID,      /* ended */
	WATCH_SIGNAL,
};

/* All zero is not open. */
struct watch {
	bool is_open;
	int epoll_fd, signal_fd;
	int *pid_fds; /* [pid_count], -1: ended; owned */
	size_t pid_count;
	sigset_t old_mask;
};

/* What was seen by one wait. */
struct watch_news {
	unsigned ended;      /* processes of watch_pid() */
	int signal;          /* 0: none; the last */
	unsigned signals;    /* how many */
	bool is_from_kernel; /* the terminal sent it to the whole group */
};

int watch_open(struct watch *w, struct err *e) MUST_CHECK;
void watch_close(struct watch *w);

/* The signal mask before, for children. */
const sigset_t *watch_old_mask(const struct watch *w);

int watch_add(struct watch *w, int fd, enum watch_kind kind, struct err *e) MUST_CHECK;
/* The end of a process. -ESRCH: it is gone. On kernels before 5.3 -ENOSYS. */
int watch_pid(struct watch *w, pid_t pid, struct err *e) MUST_CHECK;

/* At most so long. */
void watch_wait(struct watch *w, int64_t timeout_ns, struct watch_news *ret);

#endif
