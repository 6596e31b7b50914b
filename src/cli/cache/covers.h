/* SPDX-License-Identifier: MIT */
/*
 * cache_covers: the folders that a command gets from a view in their own places.
 *
 * They are the target itself, or, where a command must be able to write into what is below it,
 * those of the system's programs, those that variables name, and those of its program. None has
 * the home, the folder for temporary files, or what the system changes in it.
 */
#ifndef CLI_CACHE_COVERS_H
#define CLI_CACHE_COVERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/opt.h"

/* All zero: none. */
struct cache_covers {
	char **folders; /* [count]; without links, none below another; owned */
	size_t count, cap;
};

/* What programs, the loader, Python and its environments look for files by. Ends with NULL. */
extern const char *const cache_variables[];

/* target: absolute. program: of the command, as cache_program_find has it; NULL: unknown. more:
 * further variables. */
int cache_covers_find(struct cache_covers *c, const char *target, const char *program,
		      const struct opt_list *more, struct err *e) MUST_CHECK;
void cache_covers_fini(struct cache_covers *c);

/* Is path, [0..len), one of them or below one, as it is written or as it leads? */
bool cache_covers_has(const struct cache_covers *c, const char *path, size_t len);

/* Is path, [0..len), the folder or below it? */
bool cache_is_in(const char *folder, const char *path, size_t len);

#endif
