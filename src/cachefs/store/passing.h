/* SPDX-License-Identifier: MIT */
/*
 * passing: files that the kernel reads by itself, from memory of the cache.
 *
 * A file that is here as a whole when it is opened is passed to whoever opens it: reading and
 * mapping it is no request to us any more, and takes large pages. The kernel takes no file that
 * is open both ways, so that the first who has it open decides for all until the last of them
 * closes it; so long all of its data stays.
 * Source: Documentation/filesystems/fuse/fuse-passthrough.rst and fs/fuse/iomode.c of Linux.
 */
#ifndef CACHEFS_STORE_PASSING_H
#define CACHEFS_STORE_PASSING_H

#include <stdbool.h>

#include "cachefs/store/cache.h"

struct passing; /* a file that is open */

/* For an answer to an open of n, a file: the number of what the kernel reads, and 0 where it asks
 * us; or -ENOMEM. */
int passing_open(struct cache *c, struct node *n) MUST_CHECK;
/* The same n; was_passed: the answer had a number. */
void passing_close(struct cache *c, struct node *n, bool was_passed);

/* The end of a node that is still open somewhere: the chunks are gone. NULL is allowed. */
void passing_free(struct passing *p);

#endif
