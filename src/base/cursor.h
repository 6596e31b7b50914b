/* SPDX-License-Identifier: MIT */
/*
 * cursor: reads untrusted bytes forward, with bounds.
 *
 * Reading past the end sets bad, moves to the end, and yields 0 from then on, so a reader checks
 * once. All numbers are little-endian and need no alignment.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const unsigned char *at;  /* next byte */
	const unsigned char *end; /* one past the last */
	bool bad;                 /* something was read that is not there */
};

struct cursor cursor_make(const void *bytes, size_t len);
size_t cursor_left(const struct cursor *c); /* bytes */

uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
uint64_t cursor_varint(struct cursor *c); /* protobuf base 128; over 64 bits is bad */
int64_t cursor_sleb(struct cursor *c);    /* DWARF SLEB128 */

/* len bytes, borrowed from the input; NULL and bad when there are fewer. */
const unsigned char *cursor_bytes(struct cursor *c, size_t len);

uint64_t cursor_long_uleb(struct cursor *c); /* what cursor_uleb() does with any number */

/* DWARF ULEB128; bits over 64 are dropped. Inline, like cursor_skip(): the loops over the entries
 * and lines of DWARF call it millions of times, mostly for one byte. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	return c->at < c->end && *c->at < 0x80 ? *c->at++ : cursor_long_uleb(c);
}

static inline void cursor_skip(struct cursor *c, size_t len)
{
	if ((size_t)(c->end - c->at) < len)
		cursor_bytes(c, len);
	else if (len) /* an empty cursor may have no bytes at all */
		c->at += len;
}

/* A part of its own: the next len bytes. Empty and bad when there are fewer. */
struct cursor cursor_sub(struct cursor *c, size_t len);

/* The next line without its '\n' or "\r\n"; false at the end of the input. */
bool cursor_line(struct cursor *c, const char **ret_line, size_t *ret_len);

/* NUL-terminated text, borrowed; its length without the NUL. NULL and bad without a NUL. */
const char *cursor_cstr(struct cursor *c, size_t *ret_len);

#endif
