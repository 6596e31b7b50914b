/* SPDX-License-Identifier: MIT */
/* child_output: what another program makes of an input. */
#ifndef TARGET_CHILD_OUTPUT_H
#define TARGET_CHILD_OUTPUT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* Runs argv, which ends with NULL and is found by PATH, with input as its standard input; appends
 * its standard output. -EIO: it failed; the last line of its standard error has the reason, and
 * remedy what to do instead. */
int child_output(char *const *argv, const void *input, size_t len, const char *remedy,
		 struct buf *out, struct err *e) MUST_CHECK;

#endif
