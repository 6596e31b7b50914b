/* SPDX-License-Identifier: MIT */
/* walk: visits every path below a folder, without stat(2) of each file. */
#ifndef CACHEFS_STORE_WALK_H
#define CACHEFS_STORE_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"

/* path: [0..len), absolute, followed by a NUL. Returns 0, or a -errno that ends the walk. */
typedef int walk_visit(void *context, const char *path, size_t len, bool is_folder, struct err *e);

/*
 * Visits all paths below root, but not root itself, in no order. It follows no links and enters no
 * other file system. *ret_unread: visited folders that could not be read. -ENOENT and the like:
 * root is not a folder or cannot be read.
 */
int walk(const char *root, walk_visit *visit, void *context, size_t *ret_unread,
	 struct err *e) MUST_CHECK;

#endif
