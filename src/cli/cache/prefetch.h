/* SPDX-License-Identifier: MIT */
/* prefetch: reads the list of --prefetch, and shows the progress. */
#ifndef CLI_CACHE_PREFETCH_H
#define CLI_CACHE_PREFETCH_H

#include "base/buf.h"
#include "cachefs/store/prefetch.h"

struct prefetch_list {
	struct buf text; /* the paths, NUL-terminated */
	const char **paths;
	size_t count;
};

/* path: a text file of one path a line, or a cache's profile. ret: all zero before. */
int prefetch_list_read(const char *path, struct prefetch_list *ret, struct err *e) MUST_CHECK;
void prefetch_list_fini(struct prefetch_list *l);

/* For struct prefetch_opts. On a terminal it overwrites its last line. */
void prefetch_report(void *context, const struct prefetch_state *state);

#endif
