/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTF_BYTES 120 /* what one buf_printf() mostly needs at most */

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->bad = false;
	if (b->data)
		b->data[0] = '\0';
}

int buf_error(const struct buf *b)
{
	return b->bad ? -ENOMEM : 0;
}

void *buf_reserve(struct buf *b, size_t len)
{
	size_t need, cap;
	char *data;

	if (b->bad)
		return NULL;
	if (b->cap - b->len > len)
		return b->data + b->len;
	if (__builtin_add_overflow(b->len, len, &need) || need >= SIZE_MAX / 2) {
		b->bad = true;
		return NULL;
	}
	cap = b->cap ? b->cap : 64;
	while (cap <= need)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data) {
		b->bad = true;
		return NULL;
	}
	b->data = data;
	b->cap = cap;
	return b->data + b->len;
}

void buf_grew(struct buf *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_put(struct buf *b, const void *bytes, size_t len)
{
	void *at = buf_reserve(b, len);

	if (!at)
		return;
	if (len)
		memcpy(at, bytes, len);
	buf_grew(b, len);
}

void buf_put_str(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

void buf_put_byte(struct buf *b, unsigned char byte)
{
	char *at = buf_reserve(b, 1);

	if (!at)
		return;
	*at = (char)byte;
	buf_grew(b, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	char *at = buf_reserve(b, PRINTF_BYTES);
	va_list args;
	int len;

	if (!at)
		return;
	va_start(args, fmt);
	len = vsnprintf(at, PRINTF_BYTES + 1, fmt, args);
	va_end(args);
	if (len > PRINTF_BYTES) {
		at = buf_reserve(b, (size_t)len);
		if (!at)
			return;
		va_start(args, fmt);
		len = vsnprintf(at, (size_t)len + 1, fmt, args);
		va_end(args);
	}
	if (len < 0) {
		b->bad = true;
		return;
	}
	buf_grew(b, (size_t)len);
}

void buf_put_uint(struct buf *b, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buf_put(b, digits + at, sizeof digits - at);
}

void buf_put_int(struct buf *b, int64_t value)
{
	if (value < 0)
		buf_put_byte(b, '-');
	buf_put_uint(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void buf_put_varint(struct buf *b, uint64_t value)
{
	unsigned char bytes[10];
	size_t len = 0;

	while (value >= 0x80) {
		bytes[len++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	bytes[len++] = (unsigned char)value;
	buf_put(b, bytes, len);
}

static void put_little_endian(struct buf *b, uint64_t value, size_t len)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	buf_put(b, bytes, len);
}

void buf_put_u32(struct buf *b, uint32_t value)
{
	put_little_endian(b, value, 4);
}

void buf_put_u64(struct buf *b, uint64_t value)
{
	put_little_endian(b, value, 8);
}
