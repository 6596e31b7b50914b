/* SPDX-License-Identifier: MIT */
/*
 * inflate: decompresses debug sections that zlib compressed, as Go's linker writes them. Unwinding
 * runs inside other programs and links only libc, hence a decoder of its own.
 *
 * Source: RFC 1950, RFC 1951.
 */
#ifndef UNWIND_INFLATE_H
#define UNWIND_INFLATE_H

#include <stddef.h>

#include "base/macros.h"

/* Fills [out..out+out_len) from a zlib stream. 0, -EINVAL when it is none, or has fewer or more
 * bytes; -ENOMEM. The checksum is not looked at: who reads the bytes trusts nothing of them. */
int inflate_zlib(const void *in, size_t in_len, void *out, size_t out_len) MUST_CHECK;

#endif
