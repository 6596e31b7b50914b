/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/leave.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cachefs/fuse/connection.h"
#include "cachefs/fuse/mount_users.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/fuse/unmount.h"

#define PAUSE_MS 50 /* between two searches for users, which read all of /proc */

/* After the last unmount the kernel closes the connection. */
static bool is_connected(const struct leave *l)
{
	struct pollfd fuse = { .fd = l->fuse_fd };

	return poll(&fuse, 1, 0) == 0;
}

static bool has_users(const struct leave *l)
{
	struct mount_users u;
	bool has;

	mount_users_find(l->device, 0, &u);
	has = u.count;
	mount_users_fini(&u);
	return has;
}

/* Mounts in other namespaces are copies, which keep the connection even if nobody uses them. */
static bool try_unmount(const struct leave *l)
{
	struct err e = { 0 };

	return unmount_unused(l->view, &e) == 0 && (!is_connected(l) || !has_users(l));
}

bool leave_unused(const struct leave *l, const sigset_t *signals)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_MS * NS_PER_MS };
	int64_t until_ns = clock_mono_ns() + LEAVE_USERS_MS * NS_PER_MS;
	sigset_t hurry = *signals;

	sigdelset(&hurry, SIGCHLD);
	sigdelset(&hurry, SIGUSR1);
	sigdelset(&hurry, UNMOUNT_IF_HANGING);
	while (!try_unmount(l))
		if (clock_mono_ns() >= until_ns || sigtimedwait(&hurry, NULL, &pause) >= 0)
			return false;
	return true;
}

void leave_log_users(const struct leave *l, const char *why)
{
	struct mount_users u;

	mount_users_find(l->device, 0, &u);
	if (u.count)
		log_msg(LOG_WARN, "cache", "%s: %s while in use by %s", l->view, why, u.names.data);
	mount_users_fini(&u);
}

void leave_forced(const struct leave *l)
{
	struct err e = { 0 };

	if (unmount_forced(l->view, getpid(), l->device, &e) < 0)
		log_msg(LOG_WARN, "cache", "%s", e.msg);
	if (is_connected(l))
		connection_abort(l->connection);
}

/* A pipe without a reader polls like /dev/fuse after an unmount, so libfuse does not unmount
 * anything. */
void leave_connection(const struct leave *l)
{
	int ends[2];

	if (!is_connected(l) || pipe2(ends, O_CLOEXEC) < 0)
		return;
	close(ends[0]);
	dup3(ends[1], l->fuse_fd, O_CLOEXEC);
	close(ends[1]);
}
