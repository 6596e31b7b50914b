/* SPDX-License-Identifier: MIT */
/*
 * mount_users: lists the processes that use a file system, by a working directory, a program, a
 * descriptor or a mapping.
 *
 * It reads proc(5) only, and never the file system itself, which may hang.
 */
#ifndef CACHEFS_FUSE_MOUNT_USERS_H
#define CACHEFS_FUSE_MOUNT_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct mount_users {
	struct buf names; /* the first few: "python3 (77), sleep (78)" */
	size_t count;
	bool has_server; /* the server is among them */
};

/* Users of any mount of the device, also in other namespaces; not this process, nor processes that
 * we may not inspect. server: a process id to report separately; 0: none. */
void mount_users_find(dev_t device, pid_t server, struct mount_users *ret);
void mount_users_fini(struct mount_users *u);

#endif
