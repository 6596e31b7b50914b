/* SPDX-License-Identifier: MIT */
/* python_text: characters of a str as UTF-8. */
#ifndef INTERP_PYTHON_TEXT_H
#define INTERP_PYTHON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Appends characters of width bytes each (1, 2, 4; little-endian). Lone surrogates, and what is no
 * character, become U+FFFD. is_cut: "..." follows.
 */
void python_text_put(struct buf *out, const char *bytes, size_t len, unsigned width, bool is_cut);

#endif
