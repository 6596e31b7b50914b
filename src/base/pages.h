/* SPDX-License-Identifier: MIT */
/*
 * pages: zeroed memory of whole pages, for large tables of which little is used.
 *
 * A page costs nothing until it is touched. calloc() gives the same for the first large block only:
 * later ones come from its heap and are cleared, and sanitizers mark each byte.
 *
 * Source: mmap(2), MAP_ANONYMOUS.
 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

#include "base/macros.h"

void *pages_new(size_t bytes) MUST_CHECK; /* NULL: out of memory */
void pages_free(void *at, size_t bytes);  /* bytes: as for pages_new; NULL is allowed */

#endif
