/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/mounted.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/file.h"
#include "base/log.h"
#include "base/quote.h"
#include "cachefs/fuse/mount_users.h"

#define WRITE_MS 600000 /* for a daemon to write its files, with an fsync(2) each */
#define EXIT_MS 500     /* for a daemon to exit after the kernel has closed its connection */
#define BUSY_MS 2000    /* for processes that are exiting, whose files the kernel closes late */
#define MOUNTS_MAX (16 << 20)

extern char **environ;

/* Is this line of mountinfo one of our mounts at view? */
static bool is_ours(char *line, const char *view, struct mounted *ret)
{
	static const char fs_type[] = " - fuse.auger ";
	unsigned major_nr, minor_nr;
	char *type = strstr(line, fs_type), *path, *owner;
	int at = 0;

	if (!type)
		return false;
	if (sscanf(line, "%*u %*u %u:%u %*s %n", &major_nr, &minor_nr, &at) < 2 || !at)
		return false;
	path = line + at;
	path[strcspn(path, " ")] = '\0';
	quote_undo_octal(path);
	if (strcmp(path, view) != 0)
		return false;
	ret->device = makedev(major_nr, minor_nr);
	type += strlen(fs_type);
	ret->daemon = strncmp(type, MOUNTED_SOURCE, strlen(MOUNTED_SOURCE)) == 0
			      ? atoi(type + strlen(MOUNTED_SOURCE))
			      : 0;
	owner = strstr(type, ",user_id=");
	ret->owner = owner ? (uid_t)strtoul(owner + strlen(",user_id="), NULL, 10) : 0;
	return true;
}

bool mounted_find(const char *view, struct mounted *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	bool found = false;

	if (file_read_small("/proc/self/mountinfo", MOUNTS_MAX, &text, e) < 0)
		return false;
	for (char *line = text.data, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		found |= is_ours(line, view, ret);
	}
	return found;
}

/* For users who may not call umount(2). fusermount3 prints its reason itself. */
static int run_fusermount(const char *view, bool is_lazy, bool is_quiet, struct err *e)
{
	char program[] = "fusermount3", option[] = "-u", lazy[] = "-z", quiet[] = "-q",
	     none[] = "-u";
	char *path = strdup(view);
	char *const argv[] = { program, option, is_lazy ? lazy : none, is_quiet ? quiet : none,
			       path,    NULL };
	int rc = path ? 0 : ENOMEM, status = 0;
	struct mounted left;
	pid_t pid;

	if (rc == 0)
		rc = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	free(path);
	if (rc)
		return err_set(e, -rc, "fusermount3: %s", strerror(rc));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, "fusermount3");
	if (!status || !mounted_find(view, &left, e))
		return 0; /* or another process has just unmounted it */
	return err_set(e, -EBUSY, "%s: fusermount3 could not unmount it", view);
}

/* A pidfd of the daemon; -1: it has exited, or pid is not one of our daemons. */
static int open_daemon(pid_t pid)
{
	char path[64], name[32];
	int fd = pid > 0 ? compat_pidfd_open(pid) : -1;

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	if (fd >= 0 &&
	    (!file_read_start(path, name, sizeof name) || strcmp(name, MOUNTED_COMM "\n") != 0)) {
		close(fd);
		return -1; /* a pid of another namespace, or reused */
	}
	return fd;
}

static int unmount(const char *view, bool is_lazy, bool is_quiet, struct err *e)
{
	if (umount2(view, UMOUNT_NOFOLLOW | (is_lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	if (errno == EPERM)
		return run_fusermount(view, is_lazy, is_quiet, e);
	if (errno == EBUSY)
		return err_set(e, -EBUSY, "%s: in use; --lazy unmounts it anyway", view);
	if (errno == EINVAL || errno == ENOENT)
		return 0; /* another process has just unmounted it */
	return err_errno(e, "%s", view);
}

struct ending {
	const char *view;
	struct mounted mounted;
	int daemon; /* its pidfd; -1: none */
};

/* Lets the daemon unmount the view, and finish its files. */
static int terminate(const struct ending *o, struct err *e)
{
	if (o->daemon < 0 || compat_pidfd_kill(o->daemon, o->mounted.daemon, SIGTERM) < 0)
		return unmount(o->view, true, false, e);
	return 0;
}

static void find_users(const struct ending *o, struct mount_users *ret)
{
	mount_users_find(o->mounted.device, o->mounted.daemon, ret);
}

/* The view is busy. Its users may be exiting, and the kernel closes some files late. If the daemon
 * is the only user, it is prefetching, and is terminated. */
static int unmount_busy(const struct ending *o, enum unmount_mode mode, struct err *e)
{
	static const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int64_t until_ns = clock_mono_ns() + BUSY_MS * (NS_PER_S / 1000);
	struct mount_users u;
	int rc;

	find_users(o, &u);
	if (u.count == 1 && u.has_server) {
		mount_users_fini(&u);
		return terminate(o, e);
	}
	while ((rc = unmount(o->view, false, true, e)) == -EBUSY && clock_mono_ns() < until_ns)
		nanosleep(&pause, NULL);
	mount_users_fini(&u);
	if (rc != -EBUSY)
		return rc;
	find_users(o, &u);
	if (mode == UNMOUNT_ALWAYS) {
		log_msg(LOG_WARN, "cache", "%s: in use by %s; it is unmounted anyway", o->view,
			u.count ? u.names.data : "a process");
		rc = terminate(o, e);
	} else if (u.count) {
		rc = err_set(e, -EBUSY, "%s: in use by %s; --lazy unmounts it anyway", o->view,
			     u.names.data);
	} else {
		rc = unmount(o->view, false, false, e);
	}
	mount_users_fini(&u);
	return rc;
}

static bool has_ended(const struct ending *o, int ms)
{
	struct pollfd daemon = { .fd = o->daemon, .events = POLLIN };

	return o->daemon < 0 || poll(&daemon, 1, ms) != 0;
}

/* The view is unmounted here, and the daemon runs on: other namespaces have copies of the mount.
 * Unused copies do not keep the daemon. */
static void end_copies(const struct ending *o, enum unmount_mode mode)
{
	struct mount_users u;
	struct err e = { 0 };

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
	if (terminate(o, &e) == 0 && !has_ended(o, WRITE_MS))
		log_msg(LOG_WARN, "cache", "%s: unmounted, but its daemon %d has not exited",
			o->view, (int)o->mounted.daemon);
}

/* Does every call on the view fail, because its daemon died? */
static bool is_dead(const char *view)
{
	struct statfs fs; /* the kernel caches the attributes that stat(2) returns */

	return statfs(view, &fs) < 0 && errno == ENOTCONN;
}

int mounted_unmount(const char *view, enum unmount_mode mode, struct err *e)
{
	struct ending o = { .view = view };
	bool is_lazy;
	int rc;

	if (!mounted_find(view, &o.mounted, e))
		return err_set(e, -EINVAL, "%s: no cache is mounted there", view);
	if (geteuid() != 0 && o.mounted.owner != getuid())
		return err_set(e, -EPERM, "%s: another user's cache", view);
	o.daemon = open_daemon(o.mounted.daemon);
	is_lazy = mode == UNMOUNT_LAZY || (has_ended(&o, 0) && is_dead(view));
	rc = unmount(view, is_lazy, true, e);
	if (rc == -EBUSY && !is_lazy)
		rc = unmount_busy(&o, mode, e);
	if (rc == 0 && !is_lazy && !has_ended(&o, EXIT_MS))
		end_copies(&o, mode);
	if (o.daemon >= 0)
		close(o.daemon);
	return rc;
}
