/* SPDX-License-Identifier: MIT */
/*
 * nearest: "did you mean 'rows'?" for a name that matches nothing.
 *
 * Add every name that exists; of those with the fewest edits the best NEAREST_MAX are kept. A name
 * is near when it, or a part of it, becomes the wanted one by at most a third as many edits as the
 * wanted one has letters (an edit: a letter more, less or changed, or two neighbors swapped; case
 * does not count). No allocation.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#include "base/macros.h"

#define NEAREST_MAX 3

struct nearest {
	const char *wanted; /* [len]; borrowed */
	size_t len;
	struct {
		const char *name; /* borrowed */
		size_t score;     /* the least first */
	} best[NEAREST_MAX];      /* [count] */
	size_t count;
	char text[256]; /* what nearest_text() returns */
};

struct nearest nearest_start(const char *wanted, size_t len);
void nearest_add(struct nearest *n, const char *name);
void nearest_add_list(struct nearest *n, const char *const *names); /* ends with NULL */

/* "; did you mean 'DASHESone' or 'DASHEStwo'?", "" when no name is near. Held by n. */
const char *nearest_text(struct nearest *n, const char *dashes);

#endif
