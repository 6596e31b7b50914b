/* SPDX-License-Identifier: MIT */
/*
 * credentials: in whose name storage is asked: the user, the group and the further groups of a
 * process. They are never changed, and shared by reference.
 *
 * Only a daemon of root can take those of another user, and only for the thread that does so; see
 * base/output/fsuser.h.
 */
#ifndef CACHEFS_RIGHTS_CREDENTIALS_H
#define CACHEFS_RIGHTS_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/output/fsuser.h"

struct credentials {
	_Atomic unsigned refs;
	uid_t uid;
	gid_t gid;
	size_t count;
	gid_t groups[]; /* [count] */
};

/* With one reference. NULL: more than FSUSER_GROUPS groups, or out of memory. */
struct credentials *credentials_new(uid_t uid, gid_t gid, const gid_t *groups,
				    size_t count) MUST_CHECK;
/* NULL is allowed for all below. */
struct credentials *credentials_ref(struct credentials *who);
void credentials_unref(struct credentials *who);

/* Groups in another order are other credentials. */
bool credentials_are_same(const struct credentials *a, const struct credentials *b);

/* Of our own user, whose calls need no change: our groups are used. True for NULL. */
bool credentials_are_ours(const struct credentials *who);

/* The same as fsuser_enter; fsuser_read's result is left in *ret_own, for fsuser_leave. */
int credentials_enter(const struct credentials *who, struct fsuser *ret_own) MUST_CHECK;

#endif
