/* SPDX-License-Identifier: MIT */
/*
 * jitdump: names JIT code from the file jit-PID.dump that its runtime writes: records of functions
 * that were made and moved, each with its name and its code.
 *
 * Runtimes append also when they reuse memory, so the last record for an address holds. The code is
 * skipped, and so are records of lines and of unwinding.
 *
 * Source: Linux, tools/perf/Documentation/jitdump-specification.txt, version 2.
 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define JITDUMP_MAX_RECORDS 1000000u        /* that are read of a file */
#define JITDUMP_MAX_NAME 4096u              /* bytes that are read of a name */
#define JITDUMP_MAX_TEXT ((size_t)64 << 20) /* of all names */

/* Does it start as a jitdump does? Does not move the file's offset. */
bool jitdump_detect(int fd);

/* wanted: [count], ascending, no two equal. ret: [count], names that point into text, which the
 * caller ends with buf_fini; NULL: none. What is broken ends the file. 0, or 1: it has more
 * records or names than are read. Else the -errno of read(2), or -ENOMEM; path is for the reason.
 */
int jitdump_find(int fd, const char *path, const uint64_t *wanted, size_t count, struct buf *text,
		 const char **ret, struct err *e) MUST_CHECK;

#endif
