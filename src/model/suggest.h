/* SPDX-License-Identifier: MIT */
/* suggest: the names in a profile that are nearest to a name it does not have. */
#ifndef MODEL_SUGGEST_H
#define MODEL_SUGGEST_H

#include "base/buf.h"
#include "base/nearest.h"
#include "model/profile.h"

/* Adds the names of all functions. */
void suggest_functions(const struct profile *p, struct nearest *n);

/*
 * Appends the values of the label key that are like wanted, "; did you mean 'worker'?"; else the
 * first few that there are, "; there are 'main', 'io' and 2 more"; else what suggest_labels()
 * appends. Out of memory is remembered in out.
 */
void suggest_label_values(const struct profile *p, const char *key, const char *wanted,
			  struct buf *out);

/* Appends "no sample has the label 'stat'; did you mean 'state'?", or the first few labels. */
void suggest_labels(const struct profile *p, const char *key, struct buf *out);

#endif
