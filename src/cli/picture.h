/* SPDX-License-Identifier: MIT */
/* picture: what commands have in common that draw profiles into a file. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/profile.h"

/* Can output ("-": standard output) be replaced by a picture? Not when its ending is of a profile,
 * or when it is one of the files that are read: a profile that is drawn over by mistake is gone.
 * kind: "an SVG picture". paths: [count]. */
int picture_check_output(const char *output, const char *kind, char *const *paths, size_t count,
			 struct err *e) MUST_CHECK;

/* Folded stacks with two values are a difference by themselves. */
bool picture_has_two_values(const struct profile *p);

#endif
