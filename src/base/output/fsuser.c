/* SPDX-License-Identifier: MIT */
#include "base/output/fsuser.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_ID                                                                              \
	((unsigned)-1) /* an id that is never valid: the call changes nothing, and returns \
			*/

uid_t fsuser_uid(void)
{
	return (uid_t)setfsuid(NO_ID);
}

static gid_t fs_gid(void)
{
	return (gid_t)setfsgid(NO_ID);
}

void fsuser_read(struct fsuser *ret)
{
	int count = getgroups(FSUSER_GROUPS, ret->groups);

	ret->uid = fsuser_uid();
	ret->gid = fs_gid();
	ret->count = count > 0 ? (size_t)count : 0;
}

/* The group first: without user id 0, it cannot be changed. */
static bool set(const struct fsuser *user)
{
	if (syscall(SYS_setgroups, user->count, user->groups) < 0)
		return false;
	setfsgid(user->gid);
	setfsuid(user->uid);
	return fsuser_uid() == user->uid && fs_gid() == user->gid;
}

int fsuser_enter(const struct fsuser *user, struct err *e)
{
	struct fsuser own;

	fsuser_read(&own);
	if (set(user) || own.uid == user->uid)
		return 0;
	fsuser_leave(&own);
	return err_set(e, -EPERM, "cannot take the rights of user %u", (unsigned)user->uid);
}

bool fsuser_leave(const struct fsuser *own)
{
	setfsuid(own->uid);
	setfsgid(own->gid);
	return set(own) || fsuser_uid() == own->uid;
}
