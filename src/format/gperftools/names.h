/* SPDX-License-Identifier: MIT */
/* gperftools_names: the names of one address, as a line of a symbolized profile has them. */
#ifndef FORMAT_GPERFTOOLS_NAMES_H
#define FORMAT_GPERFTOOLS_NAMES_H

#include <stdint.h>

#include "base/buf.h"
#include "model/profile.h"

/*
 * Appends "outer--inner", of a location or, behind the last one, of samples without a stack.
 * Names are without blanks at their ends, without controls, and without two hyphens in a row.
 */
void gperftools_put_names(const struct profile *p, uint32_t location, struct buf *out);

#endif
