/* SPDX-License-Identifier: MIT */
/* path_list: a snapshot of all counted paths with their counts. */
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
	bool is_evicted; /* the counts are sums of evicted paths below it */
	struct path_counts counts;
};

/* All zero is a valid empty one. */
struct path_list {
	struct buf text;
	struct rows rows; /* struct path_row, sorted, each path once */
	uint64_t evicted_paths;
};

/* target: the path of the cache's root. Requests go on meanwhile. -ENOMEM. */
int path_list_make(struct cache *c, const char *target, struct path_list *ret) MUST_CHECK;
void path_list_fini(struct path_list *l);

const struct path_row *path_list_get(const struct path_list *l, size_t i);
const char *path_list_path(const struct path_list *l, const struct path_row *row);

#endif
