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
#include "base/file.h"
#include "base/log.h"
#include "base/quote.h"
#include "cachefs/fuse/holders.h"
#include "cachefs/fuse/mount.h"

#define END_MS 600000 /* for a daemon to write its files at the end, each to the disk */
#define ENDS_MS 500   /* for a daemon that is told so by the kernel to end */
#define USED_MS 2000  /* for who is about to leave, and what the kernel closes a moment later */
#define MOUNTS_MAX (16 << 20)

extern char **environ;

/* One line of mountinfo: is it ours, at this path? */
static bool is_ours(char *line, const char *view, struct mounted *ret)
{
	static const char mark[] = " - fuse.auger ";
	unsigned major_nr, minor_nr;
	char *type = strstr(line, mark), *path, *owner;
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
	type += strlen(mark);
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

/* Who may not unmount asks the program of FUSE that may. It tells its reasons itself. */
static int ask_fusermount(const char *view, bool is_lazy, bool is_quiet, struct err *e)
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
		return 0; /* in the other case somebody else has just ended it */
	return err_set(e, -EBUSY, "%s: fusermount3 could not unmount it", view);
}

/* A descriptor that tells when the process ended; -1: it did, or is none that serves a cache. */
static int watch_daemon(pid_t pid)
{
	char path[64], name[32];
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	if (fd >= 0 &&
	    (!file_read_start(path, name, sizeof name) || strcmp(name, MOUNTED_COMM "\n") != 0)) {
		close(fd);
		return -1; /* of another name space, or another process by now */
	}
	return fd;
}

static int unmount(const char *view, bool is_lazy, bool is_quiet, struct err *e)
{
	if (umount2(view, UMOUNT_NOFOLLOW | (is_lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	if (errno == EPERM)
		return ask_fusermount(view, is_lazy, is_quiet, e);
	if (errno == EBUSY)
		return err_set(e, -EBUSY, "%s: in use; --lazy unmounts it all the same", view);
	if (errno == EINVAL || errno == ENOENT)
		return 0; /* it was one: somebody else has just ended it, and removed its folder */
	return err_errno(e, "%s", view);
}

/* A view that somebody tries to end. */
struct ending {
	const char *view;
	struct mounted mounted;
	int daemon; /* tells when it has ended; -1: nothing does */
};

/* The daemon unmounts it by itself, at once and in order. */
static int terminate(const struct ending *o, struct err *e)
{
	if (o->daemon < 0 || syscall(SYS_pidfd_send_signal, o->daemon, SIGTERM, NULL, 0) < 0)
		return unmount(o->view, true, false, e);
	return 0;
}

static void find_holders(const struct ending *o, struct holders *ret)
{
	holders_find(o->mounted.device, o->mounted.daemon, ret);
}

/* It was in use. Who has it may be about to end, and the kernel closes some files a moment later;
 * a daemon that alone has it prefetches. */
static int end_used(const struct ending *o, enum mount_end how, struct err *e)
{
	static const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int64_t until_ns = clock_mono_ns() + USED_MS * (NS_PER_S / 1000);
	struct holders h;
	int rc;

	find_holders(o, &h);
	if (h.count == 1 && h.has_wanted) {
		holders_fini(&h);
		return terminate(o, e);
	}
	while ((rc = unmount(o->view, false, true, e)) == -EBUSY && clock_mono_ns() < until_ns)
		nanosleep(&pause, NULL);
	holders_fini(&h);
	if (rc != -EBUSY)
		return rc;
	find_holders(o, &h);
	if (how == MOUNT_END_ALWAYS) {
		log_msg(LOG_WARN, "cache", "%s: in use by %s; it is unmounted all the same",
			o->view, h.count ? h.names.data : "somebody");
		rc = terminate(o, e);
	} else if (h.count) {
		rc = err_set(e, -EBUSY, "%s: in use by %s; --lazy unmounts it all the same",
			     o->view, h.names.data);
	} else {
		rc = unmount(o->view, false, false, e);
	}
	holders_fini(&h);
	return rc;
}

static bool has_ended(const struct ending *o, int ms)
{
	struct pollfd daemon = { .fd = o->daemon, .events = POLLIN };

	return o->daemon < 0 || poll(&daemon, 1, ms) != 0;
}

/* It is unmounted. Copies of the mount that other name spaces have by chance keep nothing up; who
 * uses one of them is told. */
static void end_elsewhere(const struct ending *o, enum mount_end how)
{
	struct holders h;
	struct err e = { 0 };

	find_holders(o, &h);
	if (h.count > h.has_wanted && how != MOUNT_END_ALWAYS) {
		log_msg(LOG_WARN, "cache", "%s: unmounted here; %s: in use elsewhere, and served",
			o->view, h.names.data);
		holders_fini(&h);
		return;
	}
	if (h.count > h.has_wanted)
		log_msg(LOG_WARN, "cache", "%s: in use by %s; it is unmounted all the same",
			o->view, h.names.data);
	holders_fini(&h);
	if (terminate(o, &e) == 0 && !has_ended(o, END_MS))
		log_msg(LOG_WARN, "cache", "%s: unmounted, but its process %d has not ended yet",
			o->view, (int)o->mounted.daemon);
}

/* Then nobody can use what he has of it. */
static bool is_dead(const char *view)
{
	struct statfs fs; /* attributes may still be known */

	return statfs(view, &fs) < 0 && errno == ENOTCONN;
}

int mount_end(const char *view, enum mount_end how, struct err *e)
{
	struct ending o = { .view = view };
	bool is_lazy;
	int rc;

	if (!mounted_find(view, &o.mounted, e))
		return err_set(e, -EINVAL, "%s: no cache is mounted there", view);
	if (geteuid() != 0 && o.mounted.owner != getuid())
		return err_set(e, -EPERM, "%s: another user's cache", view);
	o.daemon = watch_daemon(o.mounted.daemon);
	is_lazy = how == MOUNT_END_LAZY || (has_ended(&o, 0) && is_dead(view));
	rc = unmount(view, is_lazy, true, e);
	if (rc == -EBUSY && !is_lazy)
		rc = end_used(&o, how, e);
	if (rc == 0 && !is_lazy && !has_ended(&o, ENDS_MS))
		end_elsewhere(&o, how);
	if (o.daemon >= 0)
		close(o.daemon);
	return rc;
}
