/* SPDX-License-Identifier: MIT */
/* leave: a daemon ends its own view, in bounded time, whatever its users and storage do. */
#ifndef CACHEFS_FUSE_LEAVE_H
#define CACHEFS_FUSE_LEAVE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct leave {
	const char *view;
	dev_t device;   /* of the mount; 0: unknown */
	int fuse_fd;    /* of the session */
	int connection; /* see connection.h */
};

/*
 * Unmounts the view as soon as nobody uses it, in any mount namespace, while other threads serve
 * it. signals: blocked, those that serve_run waits for. False: it is in use after LEAVE_USERS_MS,
 * or one more signal to end arrived.
 */
#define LEAVE_USERS_MS 1000
bool leave_unused(const struct leave *l, const sigset_t *signals);

/* Logs which processes use the view. why: "terminated", ... */
void leave_log_users(const struct leave *l, const char *why);

/* Detaches the view, and ends its connection if we may. */
void leave_forced(const struct leave *l);

/* After the threads that serve: ends the connection in any case, so that libfuse does not unmount
 * what is mounted on the view by now. */
void leave_connection(const struct leave *l);

#endif
