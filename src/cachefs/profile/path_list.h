/* SPDX-License-Identifier: MIT */
/* path_list: all paths that something was asked of, with their counts at one moment. */
#ifndef CACHEFS_PROFILE_PATH_LIST_H
#define CACHEFS_PROFILE_PATH_LIST_H

#include <stddef.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/rows.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/path_counts.h"

struct path_row {
	size_t path;     /* offset of the absolute path, NUL-terminated, in the list's text */
	bool is_evicted; /* the counts are of paths below it that are no more known one by one */
	struct path_counts counts;
};

/* All zero is a valid empty one. */
struct path_list {
	struct buf text;
	struct rows rows; /* struct path_row, in order of their paths, each path once */
	uint64_t evicted_paths;
};

/* target: what the cache's root is, absolute. -ENOMEM. Requests go on meanwhile. */
int path_list_make(struct cache *c, const char *target, struct path_list *ret) MUST_CHECK;
void path_list_fini(struct path_list *l);

const struct path_row *path_list_get(const struct path_list *l, size_t i);
const char *path_list_path(const struct path_list *l, const struct path_row *row);

#endif
