/* SPDX-License-Identifier: MIT */
/*
 * guardian: a process that ends a view whose daemon was killed.
 *
 * A killed daemon leaves a mount on which every call fails. Worse, one that was killed during an
 * invalidation cannot exit: its thread waits for requests of its own view, /dev/fuse stays open,
 * and readers hang until somebody aborts the connection. The guardian aborts it and detaches the
 * view, if the mount there is still this daemon's.
 *
 * It is a child of the daemon's main thread, in a session of its own, holds none of the daemon's
 * descriptors, ignores all signals and sleeps. A pidfd would not do: it is ready when all threads
 * have exited. The kernel signals the guardian when the main thread has (PR_SET_PDEATHSIG).
 * Source: forget_original_parent in kernel/exit.c of Linux.
 */
#ifndef CACHEFS_FUSE_GUARDIAN_H
#define CACHEFS_FUSE_GUARDIAN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

/* Zero: none; all calls but start do nothing. For the main thread. */
struct guardian {
	pid_t pid; /* 0: none */
	int fd;    /* messages to it */
};

/* Forks it, before the mount and before the first other thread. view: absolute. */
int guardian_start(struct guardian *g, const char *view, struct err *e) MUST_CHECK;

/* The view is mounted, as this device. */
void guardian_mounted(struct guardian *g, dev_t device);

/* The daemon is ending the view. If it has not after GUARDIAN_END_MS, the guardian does. */
#define GUARDIAN_END_MS 1600
void guardian_ending(struct guardian *g);

/* After SIGCHLD. True, once: the guardian was killed. */
bool guardian_is_lost(struct guardian *g);

/* The view has ended: ends the guardian, and waits for it. */
void guardian_stop(struct guardian *g);

#endif
