/* SPDX-License-Identifier: MIT */
/* cache_way: a program's environment, so that what it looks for it finds through a view. */
#ifndef CLI_CACHE_WAY_H
#define CLI_CACHE_WAY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "cli/cache_covers.h"

struct cache_way {
	const char *target, *view;  /* absolute */
	struct cache_covers covers; /* what the command has of the view in its own place */
};

/* A path (or several, with ':' between) as the view has it: each that is in the target is put
 * below the view; what is covered, or there already, stays, and so does the rest. Appended. */
void cache_way_map(const struct cache_way *w, const char *paths, struct buf *ret);

/* Of this process: cache_variables, and those of more. What changes is told on standard error. */
int cache_way_set(const struct cache_way *w, const struct opt_list *more, struct err *e) MUST_CHECK;

#endif
