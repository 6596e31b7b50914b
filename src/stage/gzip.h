/* SPDX-License-Identifier: MIT */
/* gzip: writes bytes as stored blocks. Sources: RFC 1951, section 3.2.4; RFC 1952, sections 2.3, 8.
 */
#ifndef STAGE_GZIP_H
#define STAGE_GZIP_H

#include "stage/text.h"

/* Appends a whole gzip member. */
void gzip_store(struct text *out, const char *data, size_t len);

#endif
