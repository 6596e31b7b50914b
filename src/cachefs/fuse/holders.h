/* SPDX-License-Identifier: MIT */
/*
 * holders: the processes that use a file system: by a working folder, a program, a descriptor or
 * a mapping.
 *
 * Source: proc(5). Nothing of the file system itself is looked at: it may hang.
 */
#ifndef CACHEFS_FUSE_HOLDERS_H
#define CACHEFS_FUSE_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct holders {
	struct buf names; /* "python3 (77), sleep (78)": the first of them */
	size_t count;
	bool has_wanted; /* the one that was asked for is among them */
};

/* By any mount of it, also in other name spaces. Ours is not told, nor what we may not see. wanted:
 * a process that is told of apart; 0: none. */
void holders_find(dev_t device, pid_t wanted, struct holders *ret);
void holders_fini(struct holders *h);

#endif
