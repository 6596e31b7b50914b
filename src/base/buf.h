/* SPDX-License-Identifier: MIT */
/*
 * buf: a byte buffer that grows at the end.
 *
 * All zero is a valid empty buf. A buf remembers an allocation failure: later appends do nothing,
 * and buf_error() reports it once at the end. data is NUL-terminated whenever it is not NULL; the
 * NUL is not counted in len.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct buf {
	char *data; /* [0..len), NUL behind; owned; NULL while nothing was put */
	size_t len; /* bytes in use */
	size_t cap; /* bytes allocated */
	bool bad;   /* memory ran out; for good until buf_fini */
};

void buf_fini(struct buf *b);
void buf_clear(struct buf *b); /* empty, keeps the memory; forgets bad */

/* 0, or -ENOMEM when any append since the last clear failed. */
int buf_error(const struct buf *b) MUST_CHECK;

void buf_put(struct buf *b, const void *bytes, size_t len);
void buf_put_str(struct buf *b, const char *text); /* NUL-terminated text */
void buf_put_byte(struct buf *b, unsigned char byte);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_put_uint(struct buf *b, uint64_t value);   /* decimal digits */
void buf_put_int(struct buf *b, int64_t value);     /* decimal digits, '-' */
void buf_put_varint(struct buf *b, uint64_t value); /* protobuf base 128 */
void buf_put_u32(struct buf *b, uint32_t value);    /* little-endian */
void buf_put_u64(struct buf *b, uint64_t value);    /* little-endian */

/* Room for len more bytes at the end, to be filled by the caller and counted with
 * buf_grew(). NULL: out of memory (remembered). */
void *buf_reserve(struct buf *b, size_t len);
void buf_grew(struct buf *b, size_t len);

#endif
