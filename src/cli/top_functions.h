/* SPDX-License-Identifier: MIT */
/* top_functions: the functions with the largest values of their own, a line each, for summaries. */
#ifndef CLI_TOP_FUNCTIONS_H
#define CLI_TOP_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* Appends at most limit lines: the share of the total, the value when has_value, the name and its
 * module. */
int top_functions_put(struct buf *out, const struct profile *p, size_t type, size_t limit,
		      bool has_value, struct err *e) MUST_CHECK;

/* Appends a name as it is shown, shortened to these columns. */
void top_functions_put_name(struct buf *out, const char *name, size_t columns);

#endif
