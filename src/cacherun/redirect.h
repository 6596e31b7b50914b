/* SPDX-License-Identifier: MIT */
/* redirect: paths and variables of a command that lead into the target, made to lead into the view.
 */
#ifndef CACHERUN_REDIRECT_H
#define CACHERUN_REDIRECT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "cacherun/binds.h"

struct redirect {
	const char *target, *view; /* absolute */
	struct binds binds;        /* folders that are the view's in their own places */
};

/* Appends paths (with ':' between): each below the target is put below the view, unless it is bound
 * or there already. */
void redirect_map(const struct redirect *w, const char *paths, struct buf *ret);

/* Appends each of redirect_variables and more that changes: NAME=VALUE and its NUL. */
int redirect_map_variables(const struct redirect *w, const struct opt_list *more, struct buf *ret,
			   struct err *e) MUST_CHECK;

/* For the child that becomes the command: our own process must find fusermount3 outside of the
 * view. The environment borrows env. 0 or an errno. */
int redirect_set_variables(const struct buf *env) MUST_CHECK;

#endif
