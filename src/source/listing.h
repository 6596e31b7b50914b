/* SPDX-License-Identifier: MIT */
/*
 * listing: the instructions of a function, from the binaries that it was sampled in, each
 * with its source line.
 */
#ifndef SOURCE_LISTING_H
#define SOURCE_LISTING_H

#include <stddef.h>

#include "base/err.h"
#include "model/line_values.h"
#include "model/profile.h"

struct listing;

/*
 * Looks for the code around the addresses of costs. function: its name; file: of its source,
 * "": any. What cannot be had (a binary that is gone or another one now, no disassembler) is
 * left out and logged by LOG_WARN.
 */
int listing_new(struct listing **ret, const struct profile *p, const struct line_values *costs,
		const char *function, const char *file, struct err *e) MUST_CHECK;
void listing_free(struct listing *l); /* NULL is allowed */

/* [*ret_count], the listing's own; may be put in another order. */
struct code_line *listing_insns(struct listing *l, size_t *ret_count);

#endif
