/* SPDX-License-Identifier: MIT */
/*
 * backing: a backing file in memory for all data of one file, with a descriptor, so that the
 * kernel can read and map it in FUSE passthrough mode.
 *
 * Only a number of them have descriptors: those whose descriptor was duplicated or made last. The
 * data of others stays; they are read without passthrough. Any thread may call it.
 */
#ifndef CACHEFS_MEMORY_BACKING_H
#define CACHEFS_MEMORY_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct backing;
struct backings;

/* All of one cache. max_fds: at least 1. NULL: out of memory. */
struct backings *backings_new(unsigned max_fds) MUST_CHECK;
void backings_free(struct backings *all); /* files may be left, and stay valid; NULL is allowed */

/* With one reference. NULL: out of memory, descriptors or mappings. */
struct backing *backing_new(struct backings *all, uint64_t size) MUST_CHECK;
struct backing *backing_ref(struct backing *b);
void backing_unref(struct backing *b); /* NULL is allowed */

uint64_t backing_size(const struct backing *b);
int backing_dup(struct backing *b) MUST_CHECK; /* a descriptor, the caller's; -1: it has none */
char *backing_at(const struct backing *b, uint64_t offset);

/* Gives these whole pages back to the system; they read as zeros from then on. */
void backing_punch(const struct backing *b, uint64_t offset, size_t len);

/*
 * Collapses the file into huge pages. begin returns false while another thread does it. Then call
 * next until it returns false: each call collapses one page, which takes milliseconds, or sleeps
 * for at most a fifth of a second.
 * Source: madvise(2), MADV_COLLAPSE.
 */
bool backing_collapse_begin(struct backing *b) MUST_CHECK;
bool backing_collapse_next(struct backing *b) MUST_CHECK;
void backing_collapse_end(struct backing *b);

#endif
