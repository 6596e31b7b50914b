/* SPDX-License-Identifier: MIT */
/*
 * growth: what a program does more or less of than before.
 *
 * A row is a function of the program and the work under it: its own code, page faults, a system
 * call, ... The function is the innermost one outside of the kernel and the C library, so that
 * memset() counts for its caller; of inlined code it is the enclosing function. The kernel's
 * frames identify the work.
 */
#ifndef VIEW_TABLES_GROWTH_H
#define VIEW_TABLES_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "model/profile.h"

struct growth_row {
	const char *function; /* "[unknown]": the stack has none */
	const char *what;     /* "user code", "page faults", "system call read", ... */
	bool is_kernel;
	int64_t before, after; /* in the unit of the type */
};

#define GROWTH_FAULTS "page-faults" /* the type whose values are all page faults */

/* All zero is empty. */
struct growth {
	struct growth_row *rows; /* [count]: what grew most first, what shrank most last */
	size_t count;
	int64_t before, after;               /* of all rows */
	int64_t kernel_before, kernel_after; /* of those that are the kernel's */
	struct strtab *strings;              /* that rows borrow from */
	struct rows store;
};

/*
 * type: of samples, e.g. "cpu"; -EINVAL: one of the two has none. The values of each are divided,
 * by how many ran at once.
 */
struct growth_side {
	const struct profile *profile;
	int64_t divisor;
};
int growth_collect(struct growth *ret, const char *type, const struct growth_side *before,
		   const struct growth_side *after, struct err *e) MUST_CHECK;
void growth_fini(struct growth *g);

/* The row that grew most of the kernel's or of the user's; NULL: none grew. */
const struct growth_row *growth_most(const struct growth *g, bool is_kernel);

/* The profile of one of several that ran at once: values divided, without labels. */
int growth_of_one(const struct growth_side *side, struct profile **ret, struct err *e) MUST_CHECK;

#endif
