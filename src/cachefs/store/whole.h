/* SPDX-License-Identifier: MIT */
/*
 * whole: memory for all data of a file, in one piece that has a descriptor, so that the kernel can
 * read and map it by itself.
 */
#ifndef CACHEFS_STORE_WHOLE_H
#define CACHEFS_STORE_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct whole;

/* One reference. NULL: no memory, or no descriptor is left. */
struct whole *whole_new(uint64_t size) MUST_CHECK;
struct whole *whole_ref(struct whole *w);
void whole_unref(struct whole *w); /* NULL is allowed */

uint64_t whole_size(const struct whole *w);
int whole_fd(const struct whole *w); /* borrowed */
char *whole_at(const struct whole *w, uint64_t offset);

/* These bytes are not needed any more: they go back to the system, and are zero from then on. */
void whole_drop(const struct whole *w, uint64_t offset, size_t len);

/*
 * Puts all into large pages. begin: false: somebody is at it. Then next: one of them, which takes
 * milliseconds, or a pause, of up to a fifth of a second, until it says false.
 * Source: madvise(2), MADV_COLLAPSE.
 */
bool whole_fold_begin(struct whole *w) MUST_CHECK;
bool whole_fold_next(struct whole *w) MUST_CHECK;
void whole_fold_end(struct whole *w);

#endif
