/* SPDX-License-Identifier: MIT */
/*
 * binds: the folders that a command gets from a view by bind mounts, at their own paths.
 *
 * They are the target itself, or, where the command must be able to write below it, the folders of
 * the system's programs, those that variables name, and those of its program. None contains the
 * home, the folder for temporary files, or what the system changes.
 */
#ifndef CACHERUN_BINDS_H
#define CACHERUN_BINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/opt.h"

/* All zero: none. */
struct binds {
	char **folders; /* [count]; without links, none below another; owned */
	size_t count, cap;
};

/* What programs, the loader, Python and its environments look for files by. Ends with NULL. */
extern const char *const redirect_variables[];

/* target: absolute. program: of the command, as program_find has it; NULL: unknown. more:
 * further variables. */
int binds_find(struct binds *c, const char *target, const char *program,
	       const struct opt_list *more, struct err *e) MUST_CHECK;
void binds_fini(struct binds *c);

/* Is path, [0..len), one of them or below one, as it is written or as it leads? */
bool binds_have(const struct binds *c, const char *path, size_t len);

/* Is path, [0..len), the folder or below it? */
bool binds_is_below(const char *folder, const char *path, size_t len);

#endif
