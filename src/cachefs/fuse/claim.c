/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/fuse/unmount.h"

int claim_check(const char *view, const char *target, struct err *e)
{
	struct mounted m;
	int rc;

	if (!mounted_find(view, &m, e))
		return 0;
	rc = unmount_if_dead(view, e);
	if (rc > 0)
		log_msg(LOG_INFO, "cache", "%s: unmounted; its daemon %d has died", view,
			(int)m.daemon);
	if (rc)
		return rc < 0 ? rc : 0;
	if (m.owner != getuid())
		return err_set(e, -EBUSY, "%s: user %u's process %d serves %s there", view,
			       (unsigned)m.owner, (int)m.daemon, m.target);
	if (strcmp(m.target, target) == 0)
		return err_set(e, -EALREADY, "%s: process %d already serves %s there", view,
			       (int)m.daemon, target);
	return err_set(e, -EBUSY, "%s: process %d serves %s there; 'auger cache umount' ends that",
		       view, (int)m.daemon, *m.target ? m.target : "another folder");
}

/* -EAGAIN: another process holds it. */
static int try_lock(int lock)
{
	return flock(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EAGAIN : 0;
}

static void pause_until_retry(void)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	nanosleep(&pause, NULL);
}

static int64_t deadline_ns(void)
{
	return clock_mono_ns() + CLAIM_MS * (NS_PER_S / 1000);
}

/* Is it the folder at that path, too? Another process may have mounted a view there, of which fd is
 * the root, and have moved it since (remount.h). No request is sent to a file system; without an
 * answer it is. */
static bool is_at(int fd, const char *path)
{
	const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
	struct statx a, b;

	return statx(fd, "", AT_EMPTY_PATH | flags, STATX_INO, &a) < 0 ||
	       statx(AT_FDCWD, path, flags, STATX_INO, &b) < 0 ||
	       (a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major &&
		a.stx_dev_minor == b.stx_dev_minor);
}

/* The process that holds the lock mounts; the next one to get it checks for a mount again. */
int claim_take(const char *view, const char *target, int *ret_lock, struct err *e)
{
	int64_t until_ns = deadline_ns();
	int rc = claim_check(view, target, e);

	*ret_lock = rc < 0 ? -1 : open(view, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (rc == 0 && *ret_lock >= 0 && (try_lock(*ret_lock) < 0 || !is_at(*ret_lock, view))) {
		fd_close(ret_lock);
		pause_until_retry();
		rc = clock_mono_ns() > until_ns
			     ? err_set(e, -EBUSY, "%s: another process is mounting there", view)
			     : claim_check(view, target, e);
		*ret_lock = rc < 0 ? -1 : open(view, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (rc == 0)
		rc = claim_check(view, target, e);
	if (rc < 0) {
		fd_close(ret_lock);
		*ret_lock = -1;
	}
	return rc;
}

void claim_lock(int lock)
{
	int64_t until_ns = deadline_ns();

	while (lock >= 0 && try_lock(lock) < 0 && clock_mono_ns() < until_ns)
		pause_until_retry();
}

void claim_unlock(int lock)
{
	if (lock >= 0)
		flock(lock, LOCK_UN);
}
