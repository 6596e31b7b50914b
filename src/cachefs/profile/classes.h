/* SPDX-License-Identifier: MIT */
/*
 * classes: what kind of path a path is, by rules.
 *
 * Rules are lines of text, in the order of their weight: "CLASS absent|present|any PATTERN", where
 * a
 * '*' of the pattern stands for any bytes and all else for itself; "#" begins a comment line. The
 * ones that are built in are data/cache/path-classes.txt; rules of users come before them.
 */
#ifndef CACHEFS_PROFILE_CLASSES_H
#define CACHEFS_PROFILE_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

struct classes;

/* text: [0..len) of the user's rules; copied; NULL: none. -EINVAL: "line N: reason". */
int classes_new(const char *text, size_t len, struct classes **ret, struct err *e) MUST_CHECK;
void classes_free(struct classes *c); /* NULL is allowed */

/* The class of a path; is_absent: it was looked for and was not there. An id below
 * classes_count(): there is a rule for every path. */
uint32_t classes_find(const struct classes *c, bool is_absent, const char *path, size_t len);

size_t classes_count(const struct classes *c);
const char *classes_name(const struct classes *c, uint32_t id);

/* Does the whole text fit the pattern? */
bool classes_pattern_fits(const char *pattern, size_t pattern_len, const char *text, size_t len);

#endif
