/* SPDX-License-Identifier: MIT */
/* mounted: finds and unmounts the views of this machine, whichever process serves them. */
#ifndef CACHEFS_FUSE_MOUNTED_H
#define CACHEFS_FUSE_MOUNTED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

#define MOUNTED_SOURCE "auger:" /* the source of our mounts; the daemon's process id follows */
#define MOUNTED_COMM "auger"    /* comm of the daemon, whatever its program file is called */

struct mounted {
	dev_t device;
	pid_t daemon; /* 0: unknown */
	uid_t owner;  /* the user who mounted it */
};

/* The topmost mount on view. False: it is not ours. */
bool mounted_find(const char *view, struct mounted *ret, struct err *e);

/* What to do with a view that is still in use after a short wait: */
enum unmount_mode {
	UNMOUNT_IF_UNUSED, /* -EBUSY; e names the processes */
	UNMOUNT_LAZY,      /* detach it now; it ends with its last user */
	UNMOUNT_ALWAYS,    /* end it and log that; its users get ENOTCONN */
};

/* view: absolute. It unmounts only views of mount_run, also those whose daemon has died. */
int mounted_unmount(const char *view, enum unmount_mode mode, struct err *e) MUST_CHECK;

#endif
