/* SPDX-License-Identifier: MIT */
/*
 * backing: a backing file in memory for all data of one file, with a descriptor, so that the
 * kernel can read and map it in FUSE passthrough mode.
 */
#ifndef CACHEFS_STORE_BACKING_H
#define CACHEFS_STORE_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct backing;

/* With one reference. NULL: out of memory or descriptors. */
struct backing *backing_new(uint64_t size) MUST_CHECK;
struct backing *backing_ref(struct backing *b);
void backing_unref(struct backing *b); /* NULL is allowed */

uint64_t backing_size(const struct backing *b);
int backing_fd(const struct backing *b); /* borrowed */
char *backing_at(const struct backing *b, uint64_t offset);

/* Gives these bytes back to the system; they read as zeros from then on. */
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
