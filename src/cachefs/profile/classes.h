/* SPDX-License-Identifier: MIT */
/*
 * classes: classifies paths by rules.
 *
 * A rule is a line of text, "CLASS absent|present|any PATTERN". In the pattern '*' matches any
 * bytes;
 * "#" begins a comment line. The first rule that matches counts. The user's rules come before the
 * built-in ones of data/cache/path-classes.txt.
 */
#ifndef CACHEFS_PROFILE_CLASSES_H
#define CACHEFS_PROFILE_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

struct classes;

/* text: [0..len), the user's rules; copied; NULL: none. -EINVAL: "line N: reason". */
int classes_new(const char *text, size_t len, struct classes **ret, struct err *e) MUST_CHECK;
void classes_free(struct classes *c); /* NULL is allowed */

/* The class of a path, an id below classes_count(): the last built-in rule matches every path.
 * is_absent: every lookup of the path returned ENOENT. */
uint32_t classes_find(const struct classes *c, bool is_absent, const char *path, size_t len);

size_t classes_count(const struct classes *c);
const char *classes_name(const struct classes *c, uint32_t id);

/* Does the pattern match the whole text? */
bool classes_pattern_fits(const char *pattern, size_t pattern_len, const char *text, size_t len);

#endif
