/* SPDX-License-Identifier: MIT */
/*
 * punycode: decodes non-ASCII identifiers in Rust names.
 *
 * Source: RFC 3492; Rust RFC 2603 replaces the delimiter '-' by '_'.
 */
#ifndef SYMBOL_DEMANGLE_PUNYCODE_H
#define SYMBOL_DEMANGLE_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

#define PUNYCODE_MAX 128 /* characters */

/* Returns the count of characters in ret, or 0: broken, or too long. */
size_t punycode_decode(const char *text, size_t len, uint32_t ret[PUNYCODE_MAX]);

#endif
