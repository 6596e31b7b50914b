/* SPDX-License-Identifier: MIT */
/*
 * unmount: ends a view, from any process. Only views of mount_run are unmounted, never another
 * mount on the same folder.
 */
#ifndef CACHEFS_FUSE_UNMOUNT_H
#define CACHEFS_FUSE_UNMOUNT_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

/* Ends the view if storage hangs; a daemon that serves ignores it, and so does every other process
 * that does not handle it. */
#define UNMOUNT_IF_HANGING SIGURG

/* What to do with a view that is still in use after a short wait, although storage replies: */
enum unmount_mode {
	UNMOUNT_IF_UNUSED, /* -EBUSY; e names the processes */
	UNMOUNT_LAZY,      /* detach it now; it ends with its last user */
	UNMOUNT_ALWAYS,    /* end it and log that; its users get ENOTCONN */
};

/* Ends the view, also if its daemon has died, and waits for the daemon. view: absolute. Logs which
 * processes lose a view in use, and a daemon that storage keeps from exiting. */
int unmount_view(const char *view, enum unmount_mode mode, struct err *e) MUST_CHECK;

/* 1: the view's daemon had died, or could not exit, and the view is unmounted; 0: it lives. */
int unmount_if_dead(const char *view, struct err *e) MUST_CHECK;

/* For the daemon. 0: the view is not mounted (any more); -EBUSY: it is in use. */
int unmount_unused(const char *view, struct err *e) MUST_CHECK;

/* Detaches what this daemon mounted there as that device (0: any), if anything, and ends its
 * connection if root does it. */
int unmount_forced(const char *view, pid_t daemon, dev_t device, struct err *e) MUST_CHECK;

#endif
