/* SPDX-License-Identifier: MIT */
/*
 * fsuser: file-system calls of this thread with the rights of another user.
 *
 * The user and group ids for file systems and the supplementary groups change for this thread only:
 * setgroups(3) of libc would change them for all threads. Leaving user id 0 also drops the
 * capabilities over files, and returning to it restores them.
 * Source: setfsuid(2), capabilities(7).
 */
#ifndef BASE_OUTPUT_FSUSER_H
#define BASE_OUTPUT_FSUSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

#define FSUSER_GROUPS 1024 /* further groups are left out: fewer rights */

struct fsuser {
	uid_t uid;
	gid_t gid;
	gid_t groups[FSUSER_GROUPS]; /* [0..count) */
	size_t count;
};

/* The user of this thread. */
void fsuser_read(struct fsuser *ret);

/* Takes the user's rights. -EPERM: the kernel refuses, and the thread has its own rights as before.
 * A thread of the same user that may not change its groups keeps them. */
int fsuser_enter(const struct fsuser *user, struct err *e) MUST_CHECK;

/* Returns to what fsuser_read() returned. False: the kernel refuses. */
bool fsuser_leave(const struct fsuser *own);

/* The user id that this thread's files get. */
uid_t fsuser_uid(void);

#endif
