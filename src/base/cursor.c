/* SPDX-License-Identifier: MIT */
#include "base/cursor.h"

#include <endian.h>
#include <string.h>

struct cursor cursor_make(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	return (struct cursor){ .at = at, .end = len ? at + len : at };
}

size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

const unsigned char *cursor_bytes(struct cursor *c, size_t len)
{
	const unsigned char *bytes = c->at;

	if (cursor_left(c) < len) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	if (len)
		c->at += len;
	return bytes;
}

uint8_t cursor_u8(struct cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->bad = true;
	return 0;
}

uint16_t cursor_u16(struct cursor *c)
{
	const unsigned char *bytes = cursor_bytes(c, 2);
	uint16_t value = 0;

	if (bytes)
		memcpy(&value, bytes, 2);
	return le16toh(value);
}

uint32_t cursor_u32(struct cursor *c)
{
	const unsigned char *bytes = cursor_bytes(c, 4);
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, 4);
	return le32toh(value);
}

uint64_t cursor_u64(struct cursor *c)
{
	const unsigned char *bytes = cursor_bytes(c, 8);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, 8);
	return le64toh(value);
}

uint64_t cursor_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && c->at < c->end; shift += 7) {
		unsigned char byte = *c->at++;

		if (shift == 63 && byte > 1)
			break; /* more than 64 bits */
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	c->bad = true;
	c->at = c->end;
	return 0;
}

uint64_t cursor_long_uleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->at < c->end; shift += 7) {
		unsigned char byte = *c->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	c->bad = true;
	return 0;
}

int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->at < c->end; shift += 7) {
		unsigned char byte = *c->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			if (shift < 57 && (byte & 0x40))
				value |= UINT64_MAX << (shift + 7);
			return (int64_t)value;
		}
	}
	c->bad = true;
	return 0;
}

struct cursor cursor_sub(struct cursor *c, size_t len)
{
	const unsigned char *bytes = cursor_bytes(c, len);

	if (!bytes)
		return (struct cursor){ .at = c->end, .end = c->end, .bad = true };
	return cursor_make(bytes, len);
}

bool cursor_line(struct cursor *c, const char **ret_line, size_t *ret_len)
{
	const unsigned char *line = c->at, *newline;
	size_t len = cursor_left(c);

	if (!len)
		return false;
	newline = memchr(line, '\n', len);
	c->at = newline ? newline + 1 : c->end;
	if (newline) {
		len = (size_t)(newline - line);
		if (len && line[len - 1] == '\r')
			len--;
	}
	*ret_line = (const char *)line;
	*ret_len = len;
	return true;
}

const char *cursor_cstr(struct cursor *c, size_t *ret_len)
{
	const unsigned char *nul = cursor_left(c) ? memchr(c->at, 0, cursor_left(c)) : NULL;
	const char *text = (const char *)c->at;

	if (!nul) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	*ret_len = (size_t)(nul - c->at);
	c->at = nul + 1;
	return text;
}
