/* SPDX-License-Identifier: MIT */
/*
 * perfmap: names for code that was made at run time, from the file that its maker keeps in
 * /tmp/perf-PID.map: lines of "START SIZE NAME", the numbers in hexadecimal.
 *
 * Makers append, also when memory is used again, so the last line about an address holds.
 *
 * Source: Linux, tools/perf/Documentation/jit-interface.txt.
 */
#ifndef SYMBOL_PERFMAP_H
#define SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* wanted: [count], ascending, no two equal. ret: [count], names that point into text, which
 * the caller ends with buf_fini; NULL: none. Lines that make no sense are stepped over. Fails
 * as text_load does. */
int perfmap_find(const char *path, const uint64_t *wanted, size_t count, struct buf *text,
		 const char **ret, struct err *e) MUST_CHECK;

#endif
