/* SPDX-License-Identifier: MIT */
/*
 * cache_space: mounts of a process of one's own, by which folders are those of a view in their
 * own places: whatever path leads to a file, it is read through the view.
 *
 * Source: mount_namespaces(7), user_namespaces(7).
 */
#ifndef CLI_CACHE_SPACE_H
#define CLI_CACHE_SPACE_H

#include "base/err.h"
#include "cli/cache/covers.h"

struct cache_space {
	const char *target, *view; /* absolute */
	const struct cache_covers *covers;
};

/* Can it be entered? Tried by a process that ends at once. */
int cache_space_try(const struct cache_space *s, struct err *e) MUST_CHECK;

/* This process, of one thread, and its children. space: a struct cache_space. 0 or an errno. */
int cache_space_enter(void *space);

#endif
