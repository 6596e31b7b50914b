/* SPDX-License-Identifier: MIT */
/* mounted: views that are mounted, by whatever process. */
#ifndef CACHEFS_FUSE_MOUNTED_H
#define CACHEFS_FUSE_MOUNTED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define MOUNTED_SOURCE "auger:" /* then its process id: the source of our mounts */
#define MOUNTED_COMM "auger"    /* that process, whatever the program's file is called */

struct mounted {
	dev_t device;
	pid_t daemon; /* 0: unknown */
	uid_t owner;  /* who mounted it */
};

/* What is on top there. False: nothing of ours. */
bool mounted_find(const char *view, struct mounted *ret, struct err *e);

#endif
