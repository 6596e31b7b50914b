/* SPDX-License-Identifier: MIT */
/* prefetch_list: the paths that a cache is to prefetch, from a file that lists them. */
#ifndef CACHERUN_PREFETCH_LIST_H
#define CACHERUN_PREFETCH_LIST_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

struct prefetch_list {
	struct buf text; /* the paths, NUL-terminated */
	const char **paths;
	size_t count;
};

/* path: a text file of one path a line, or a cache's profile. ret: all zero before. */
int prefetch_list_read(const char *path, struct prefetch_list *ret, struct err *e) MUST_CHECK;
void prefetch_list_fini(struct prefetch_list *l);

#endif
