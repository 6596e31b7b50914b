/* SPDX-License-Identifier: MIT */
/*
 * perfmap: names JIT code from the file /tmp/perf-PID.map that its runtime writes: lines of "START
 * SIZE NAME", the numbers in hexadecimal. A jitdump (symbol/jitdump.h) is recognized and read
 * instead.
 *
 * Runtimes append also when they reuse memory, so the last line for an address holds.
 *
 * Source: Linux, tools/perf/Documentation/jit-interface.txt.
 */
#ifndef SYMBOL_PERFMAP_H
#define SYMBOL_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define PERFMAP_MAX_BYTES ((size_t)64 << 20) /* that are read of a map */

/* is_own: the file must belong to this user or root (-EPERM) and be no link (-ELOOP). wanted:
 * [count], ascending, no two equal. ret: [count], names that point into text, which the caller ends
 * with buf_fini; NULL: none. Lines that make no sense are skipped. 0, or 1: the map has more than
 * PERFMAP_MAX_BYTES, or the jitdump more records than are read. -EINVAL when it is no regular file;
 * else the -errno of open(2) and read(2), or -ENOMEM. */
int perfmap_find(const char *path, bool is_own, const uint64_t *wanted, size_t count,
		 struct buf *text, const char **ret, struct err *e) MUST_CHECK;

#endif
