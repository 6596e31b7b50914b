/* SPDX-License-Identifier: MIT */
/* walk: all that is below a folder now, without a look at each file. */
#ifndef CACHEFS_STORE_WALK_H
#define CACHEFS_STORE_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"

/* path: [0..len), absolute, a NUL behind. 0, or a -errno that ends the walk. */
typedef int walk_visit(void *context, const char *path, size_t len, bool is_folder, struct err *e);

/*
 * Visits what is below root, not root itself, in no order. Links are not followed, and file systems
 * mounted below are not gone into. *ret_unread: folders that could not be read, which were
 * visited. -ENOENT and the like: root is no folder, or cannot be read.
 */
int walk(const char *root, walk_visit *visit, void *context, size_t *ret_unread,
	 struct err *e) MUST_CHECK;

#endif
