/* SPDX-License-Identifier: MIT */
/*
 * guard: mapped files that may shrink while they are read.
 *
 * Reading a page behind a file's end is SIGBUS. In a guarded mapping the page reads as zeros
 * instead, and guard_end() reports it: what was read must be discarded. A SIGBUS
 * anywhere else ends the process as before.
 * Source: mmap(2), sigaction(2).
 */
#ifndef BASE_GUARD_H
#define BASE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

/* Returns a number for guard_end(), or -ENOMEM (too many are guarded), or another -errno. */
int guard_begin(const void *bytes, size_t len) MUST_CHECK;

/* Has a page been missing so far? */
bool guard_has_shrunk(int guard);
void guard_end(int guard); /* before the mapping ends; negative: nothing to do */

#endif
