/* SPDX-License-Identifier: MIT */
/*
 * mounted: finds the views of this machine, whichever process serves them. unmount.h ends them.
 *
 * It reads proc(5) only, and never the view itself, which may hang. Any user can give a mount of
 * his own the source of ours, so a process counts as the daemon only if the mount's owner runs it.
 */
#ifndef CACHEFS_FUSE_MOUNTED_H
#define CACHEFS_FUSE_MOUNTED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* The source of our mounts: "auger:", the daemon's process id, ":", the target. */
#define MOUNTED_SOURCE "auger:"
#define MOUNTED_COMM "auger" /* comm of the daemon, whatever its program file is called */
#define MOUNTED_COMM_ENDING "auger-ending" /* the same, after its view has ended */
#define MOUNTED_SOURCE_MAX (PATH_MAX - 1)  /* a longer source cannot be mounted; mount(2) */

struct mounted {
	uint64_t id; /* of the mount, in mountinfo */
	dev_t device;
	pid_t daemon;          /* from the mount's source; 0: unknown */
	uid_t owner;           /* the user who mounted it */
	char target[PATH_MAX]; /* from the mount's source; "": unknown, or its path is too long */
};

/* Writes the source of a mount by this process. */
void mounted_source(const char *target, char ret[MOUNTED_SOURCE_MAX]);

/* The topmost mount on view, an absolute path. False: it is not ours. */
bool mounted_find(const char *view, struct mounted *ret, struct err *e) MUST_CHECK;

/* The same, from the text of proc(5), /proc/PID/mountinfo, which it changes. */
bool mounted_find_in(char *mountinfo, const char *view, struct mounted *ret) MUST_CHECK;

/* Appends the paths of all views that this user may unmount, a NUL behind each. */
int mounted_list(struct buf *ret, struct err *e) MUST_CHECK;

/* A pidfd of the daemon; -1: it has exited, or the process is not this mount's daemon. */
int mounted_open_daemon(const struct mounted *m) MUST_CHECK;

/* Has its main thread exited, or begun to? Other threads of it may be left, and hang. False also if
 * there is no such process (any more), or if that cannot be read now. */
bool mounted_is_exiting(pid_t daemon);

/* Has the daemon seen the end of its view? It may still write its files. False also as above. */
bool mounted_is_ending(pid_t daemon);

/* realpath(3) for a folder that may be a view: it requests nothing from a view, and works when its
 * daemon hangs or has died. */
int mounted_resolve(const char *path, char ret[PATH_MAX], struct err *e) MUST_CHECK;

#endif
