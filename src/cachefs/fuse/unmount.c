/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "cachefs/fuse/connection.h"
#include "cachefs/fuse/mount_users.h"
#include "cachefs/fuse/mounted.h"

#define WRITE_MS 600000 /* for a daemon to write its files, with an fsync(2) each */
#define SILENT_MS 10000 /* of these, without a message */
#define EXIT_MS 500     /* for a daemon to exit after the kernel has closed its connection */
#define BUSY_MS 2000    /* for processes that are exiting, whose files the kernel closes late */
#define HANG_MS 1000    /* of these, until the daemon is to end the view if storage hangs */
#define LINGER_MS 1000  /* for the threads of a daemon whose main thread has exited */
#define WAS_GONE 1      /* see try_unmount */

extern char **environ;

/* Is the mount still there? */
static bool is_mounted(const char *view, dev_t device)
{
	struct mounted mounted;
	struct err e = { 0 };

	return mounted_find(view, &mounted, &e) && mounted.device == device;
}

/* For users who may not call umount(2). fusermount3 prints its reason itself. */
static int run_fusermount(const char *view, dev_t device, bool is_lazy, bool is_quiet,
			  struct err *e)
{
	char program[] = "fusermount3", option[] = "-u", lazy[] = "-z", quiet[] = "-q",
	     none[] = "-u";
	char *path = strdup(view);
	char *const argv[] = { program, option, is_lazy ? lazy : none, is_quiet ? quiet : none,
			       path,    NULL };
	int rc = path ? 0 : ENOMEM, status = 0;
	pid_t pid;

	if (rc == 0)
		rc = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	free(path);
	if (rc)
		return err_set(e, -rc, "fusermount3: %s", strerror(rc));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, "fusermount3");
	if (!status)
		return 0;
	if (!is_mounted(view, device))
		return WAS_GONE;
	return err_set(e, -EBUSY, "%s: fusermount3 could not unmount it", view);
}

/* WAS_GONE: another process has just unmounted it. Another mount may be there by now, which stays.
 */
static int try_unmount(const char *view, dev_t device, bool is_lazy, bool is_quiet, struct err *e)
{
	if (!is_mounted(view, device))
		return WAS_GONE;
	if (umount2(view, UMOUNT_NOFOLLOW | (is_lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	if (errno == EPERM)
		return run_fusermount(view, device, is_lazy, is_quiet, e);
	if (errno == EBUSY)
		return err_set(e, -EBUSY, "%s: in use; --lazy unmounts it anyway", view);
	if (errno == EINVAL || errno == ENOENT)
		return WAS_GONE;
	return err_errno(e, "%s", view);
}

static int unmount(const char *view, dev_t device, bool is_lazy, bool is_quiet, struct err *e)
{
	int rc = try_unmount(view, device, is_lazy, is_quiet, e);

	return rc == WAS_GONE ? 0 : rc;
}

int unmount_unused(const char *view, struct err *e)
{
	struct mounted mounted;

	if (!mounted_find(view, &mounted, e) || mounted.daemon != getpid())
		return 0;
	return unmount(view, mounted.device, false, true, e);
}

/* The id of the mount that a descriptor is in. Source: proc(5), /proc/PID/fdinfo. */
static uint64_t mount_of(int fd)
{
	char path[64], text[512];
	unsigned long long id = 0;
	const char *line;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	line = file_read_start(path, text, sizeof text) ? strstr(text, "mnt_id:") : NULL;
	return line && sscanf(line, "mnt_id: %llu", &id) == 1 ? id : 0;
}

int unmount_forced(const char *view, pid_t daemon, dev_t device, struct err *e)
{
	CLEANUP(fd_close) int folder = -1;
	struct mounted m;
	char path[64];
	int rc;

	if (!mounted_find(view, &m, e) || m.daemon != daemon || (device && m.device != device))
		return 0;
	folder = open(view, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return err_errno(e, "%s", view);
	if (mount_of(folder) != m.id)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", folder);
	if (umount2(path, MNT_DETACH | MNT_FORCE) == 0)
		return 0;
	if (errno != EPERM)
		return err_errno(e, "%s", view);
	rc = run_fusermount(view, m.device, true, true, e);
	return rc == WAS_GONE ? 0 : rc;
}

struct ending {
	const char *view;
	struct mounted mounted;
	int daemon;         /* its pidfd; -1: none */
	bool is_terminated; /* the daemon itself ends the view */
};

static bool has_ended(const struct ending *o, int ms)
{
	struct pollfd daemon = { .fd = o->daemon, .events = POLLIN };

	return o->daemon < 0 || poll(&daemon, 1, ms) != 0;
}

/* Lets the daemon unmount the view, and finish its files. */
static int terminate(struct ending *o, struct err *e)
{
	o->is_terminated = true;
	if (o->daemon < 0 || compat_pidfd_kill(o->daemon, o->mounted.daemon, SIGTERM) < 0)
		return unmount(o->view, o->mounted.device, true, false, e);
	return 0;
}

static void find_users(const struct ending *o, struct mount_users *ret)
{
	mount_users_fini(ret);
	mount_users_find(o->mounted.device, o->mounted.daemon, ret);
}

static const char *names_of(const struct mount_users *u)
{
	return u->count ? u->names.data : "a process";
}

/* While the view is in use. users: of the beginning; of later, if there were none. */
static int retry(struct ending *o, int64_t start_ns, struct mount_users *users, struct err *e)
{
	static const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	bool has_asked = false;
	int rc;

	while ((rc = try_unmount(o->view, o->mounted.device, false, true, e)) == -EBUSY) {
		int64_t ms = (clock_mono_ns() - start_ns) / NS_PER_MS;

		if (ms >= BUSY_MS)
			break;
		if (o->daemon >= 0 && !has_asked && ms >= HANG_MS) {
			if (users->count == users->has_server)
				find_users(o, users);
			has_asked = compat_pidfd_kill(o->daemon, o->mounted.daemon,
						      UNMOUNT_IF_HANGING) == 0;
		}
		nanosleep(&pause, NULL);
	}
	/* The daemon answers its users before it detaches the view, so that we may unmount it. */
	o->is_terminated =
		has_asked && (rc == WAS_GONE || (rc == 0 && mounted_is_ending(o->mounted.daemon)));
	return rc == WAS_GONE ? 0 : rc;
}

/* Users were still there after a while. */
static int unmount_used(struct ending *o, enum unmount_mode mode, struct err *e)
{
	struct mount_users u = { 0 };
	int rc;

	find_users(o, &u);
	if (mode == UNMOUNT_ALWAYS) {
		log_msg(LOG_WARN, "cache", "%s: in use by %s; it is unmounted anyway", o->view,
			names_of(&u));
		rc = terminate(o, e);
	} else if (u.count) {
		rc = err_set(e, -EBUSY, "%s: in use by %s; --lazy unmounts it anyway", o->view,
			     u.names.data);
	} else {
		rc = unmount(o->view, o->mounted.device, false, false, e);
	}
	mount_users_fini(&u);
	return rc;
}

/* The view is busy. Its users may be exiting, and the kernel closes some files late. If the daemon
 * is the only user, it is prefetching, and is terminated. */
static int unmount_busy(struct ending *o, enum unmount_mode mode, struct err *e)
{
	int64_t start_ns = clock_mono_ns();
	struct mount_users u = { 0 };
	int rc;

	find_users(o, &u);
	if (u.count == 1 && u.has_server)
		rc = terminate(o, e);
	else
		rc = retry(o, start_ns, &u, e);
	if (rc == 0 && o->is_terminated && u.count > u.has_server)
		log_msg(LOG_WARN, "cache", "%s: storage hangs; it is unmounted while in use by %s",
			o->view, names_of(&u));
	mount_users_fini(&u);
	return rc == -EBUSY ? unmount_used(o, mode, e) : rc;
}

static void log_daemon(const struct ending *o, const char *state)
{
	log_msg(LOG_WARN, "cache", "%s: unmounted; its process %d %s", o->view,
		(int)o->mounted.daemon, state);
}

/* Threads in storage calls that nothing can interrupt keep a daemon from exiting. */
static void wait_for_daemon(const struct ending *o)
{
	int64_t start_ns = clock_mono_ns(), exits_ns = 0;
	bool is_silent = true;

	while (!has_ended(o, 50)) {
		int64_t now_ns = clock_mono_ns();

		if (!exits_ns && mounted_is_exiting(o->mounted.daemon))
			exits_ns = now_ns;
		if (exits_ns && now_ns - exits_ns > LINGER_MS * NS_PER_MS) {
			log_daemon(o, "stays until storage replies");
			return;
		}
		if (now_ns - start_ns > WRITE_MS * NS_PER_MS) {
			log_daemon(o, "has not exited");
			return;
		}
		if (is_silent && now_ns - start_ns > SILENT_MS * NS_PER_MS) {
			log_daemon(o, "is still writing its files");
			is_silent = false;
		}
	}
}

/* The view is unmounted here, and the daemon runs on. If it has not seen an end, other namespaces
 * have copies of the mount, of which unused ones do not keep it. Else the kernel may have given the
 * device number to another mount. */
static void end_copies(struct ending *o, enum unmount_mode mode)
{
	struct mount_users u = { 0 };
	struct err e = { 0 };

	if (mounted_is_ending(o->mounted.daemon) || mounted_is_exiting(o->mounted.daemon)) {
		wait_for_daemon(o);
		return;
	}
	find_users(o, &u);
	if (u.count > u.has_server && mode != UNMOUNT_ALWAYS) {
		log_msg(LOG_WARN, "cache",
			"%s: unmounted here; in use by %s in another namespace, and still served",
			o->view, u.names.data);
		mount_users_fini(&u);
		return;
	}
	if (u.count > u.has_server)
		log_msg(LOG_WARN, "cache", "%s: in use by %s; it is unmounted anyway", o->view,
			u.names.data);
	mount_users_fini(&u);
	if (terminate(o, &e) == 0)
		wait_for_daemon(o);
}

/* Its daemon has died, or cannot exit and serves no more. */
static bool is_dead(const struct ending *o)
{
	struct statfs fs; /* the kernel caches the attributes that stat(2) returns */

	if (!has_ended(o, 0))
		return mounted_is_exiting(o->mounted.daemon);
	return statfs(o->view, &fs) < 0 && errno == ENOTCONN;
}

static int end_dead(const struct ending *o, struct err *e)
{
	CLEANUP(fd_close) int connection = connection_open(o->mounted.device);
	int rc = 0;

	if (is_mounted(o->view, o->mounted.device))
		rc = unmount_forced(o->view, o->mounted.daemon, o->mounted.device, e);
	else
		return 0; /* the connection may be another one */
	connection_abort(connection);
	return rc;
}

/* The view, if it is one that we may unmount. */
static int find(const char *view, struct ending *ret, struct err *e)
{
	*ret = (struct ending){ .view = view, .daemon = -1 };
	if (!mounted_find(view, &ret->mounted, e))
		return err_set(e, -EINVAL, "%s: no cache is mounted there", view);
	if (geteuid() != 0 && ret->mounted.owner != getuid())
		return err_set(e, -EPERM,
			       "%s: user %u's cache; only that user and root may unmount it", view,
			       (unsigned)ret->mounted.owner);
	ret->daemon = mounted_open_daemon(&ret->mounted);
	return 0;
}

static void close_daemon(const struct ending *o)
{
	fd_close(&o->daemon);
}

int unmount_if_dead(const char *view, struct err *e)
{
	CLEANUP(close_daemon) struct ending o;
	struct err none = { 0 };
	int rc;

	if (find(view, &o, &none) < 0 || !is_dead(&o))
		return 0;
	rc = end_dead(&o, e);
	return rc < 0 ? rc : 1;
}

int unmount_view(const char *view, enum unmount_mode mode, struct err *e)
{
	CLEANUP(close_daemon) struct ending o;
	int rc = find(view, &o, e);

	if (rc < 0)
		return rc;
	if (is_dead(&o))
		return end_dead(&o, e);
	if (mode == UNMOUNT_LAZY)
		return unmount(view, o.mounted.device, true, false, e);
	rc = unmount(view, o.mounted.device, false, true, e);
	if (rc == -EBUSY)
		rc = unmount_busy(&o, mode, e);
	if (rc == 0 && o.is_terminated)
		wait_for_daemon(&o);
	else if (rc == 0 && !has_ended(&o, EXIT_MS))
		end_copies(&o, mode);
	return rc;
}
