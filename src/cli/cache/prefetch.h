/* SPDX-License-Identifier: MIT */
/* cache_prefetch: which paths `auger cache mount --prefetch` warms, and how it goes on. */
#ifndef CLI_CACHE_PREFETCH_H
#define CLI_CACHE_PREFETCH_H

#include "base/buf.h"
#include "cachefs/store/prefetch.h"

struct prefetch_list {
	struct buf text; /* the paths, NUL-terminated */
	const char **paths;
	size_t count;
};

/* path: a path a line, or a profile of a cache. ret: all zero before. */
int prefetch_list_read(const char *path, struct prefetch_list *ret, struct err *e) MUST_CHECK;
void prefetch_list_fini(struct prefetch_list *l);

/* Of struct prefetch_opts. On a terminal, over the line before. */
void prefetch_report(void *context, const struct prefetch_state *state);

#endif
