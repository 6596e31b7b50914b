/* SPDX-License-Identifier: MIT */
/* cache_way: a program's environment, so that what it looks for it finds through a view. */
#ifndef CLI_CACHE_WAY_H
#define CLI_CACHE_WAY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "cli/cache/covers.h"

struct cache_way {
	const char *target, *view;  /* absolute */
	struct cache_covers covers; /* what the command has of the view in its own place */
};

/* A path (or several, with ':' between) as the view has it: each that is in the target is put
 * below the view; what is covered, or there already, stays, and so does the rest. Appended. */
void cache_way_map(const struct cache_way *w, const char *paths, struct buf *ret);

/* cache_variables, and those of more, as the command is to have them: each that changes as
 * NAME=VALUE and a '\0', appended, and told on standard error. */
int cache_way_map_variables(const struct cache_way *w, const struct opt_list *more, struct buf *ret,
			    struct err *e) MUST_CHECK;

/* Of this process, which is to become the command: ours looks for its own programs, such as
 * fusermount3, where they are. env stays as it is from here on. 0 or an errno. */
int cache_way_set_variables(const struct buf *env) MUST_CHECK;

#endif
