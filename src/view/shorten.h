/* SPDX-License-Identifier: MIT */
/*
 * shorten: shortens function names to a number of columns.
 *
 * In "void std::sort<int*>(int*, int*)" the start is the least useful part. The name itself is the
 * most useful, then its scopes; result type, template arguments and parameters come last. Names of
 * C++, Rust and the like are recognized by their "::", "<" and "(".
 */
#ifndef VIEW_SHORTEN_H
#define VIEW_SHORTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Appends what fits into these columns of a visible name that does not: not the result, the
 * scopes that there is room for, and arguments and parameters when there is still some; the mark
 * stands for what is missing of these. false: it has no such parts, nothing is appended.
 */
bool shorten_name(struct buf *out, const char *name, size_t len, size_t columns, const char *mark);

#endif
