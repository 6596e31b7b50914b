/* SPDX-License-Identifier: MIT */
#include "stage/text.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "stage/arena.h"

#define FIRST_CAP ((size_t)65536)

void text_fini(struct text *t)
{
	if (t->data)
		munmap(t->data, t->cap);
	*t = (struct text){ 0 };
}

int text_error(const struct text *t)
{
	return t->failed ? -ENOMEM : 0;
}

static bool grow(struct text *t, size_t len)
{
	size_t cap = t->cap ? t->cap : FIRST_CAP;
	void *data;

	while (cap - t->len < len) {
		if (cap > SIZE_MAX / 4)
			return false;
		cap *= 2;
	}
	if (cap == t->cap)
		return true;
	data = t->data ? mremap(t->data, t->cap, cap, MREMAP_MAYMOVE) : pages_map(cap);
	if (!data || data == MAP_FAILED)
		return false;
	t->data = data;
	t->cap = cap;
	return true;
}

void text_put(struct text *t, const void *bytes, size_t len)
{
	if (len == 0)
		return;
	if (t->failed || !grow(t, len)) {
		t->failed = true;
		return;
	}
	memcpy(t->data + t->len, bytes, len);
	t->len += len;
}

void text_put_str(struct text *t, const char *str)
{
	text_put(t, str, strlen(str));
}

void text_widen_line(struct text *t, size_t len)
{
	size_t old = t->len;

	if (t->failed || !old || len <= old)
		return;
	if (!grow(t, len - old)) {
		t->failed = true;
		return;
	}
	memset(t->data + old - 1, ' ', len - old);
	t->data[len - 1] = '\n';
	t->len = len;
}

void text_put_int(struct text *t, int64_t value)
{
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[20];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		text_put(t, "-", 1);
	text_put(t, digits + at, sizeof digits - at);
}

void text_put_seconds(struct text *t, int64_t ns)
{
	uint64_t left = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t part = left % 1000000000;
	char digits[9];
	size_t len = sizeof digits;

	for (size_t i = sizeof digits; i-- > 0; part /= 10)
		digits[i] = (char)('0' + part % 10);
	while (len > 3 && digits[len - 1] == '0')
		len--;
	if (ns < 0)
		text_put(t, "-", 1);
	text_put_int(t, (int64_t)(left / 1000000000));
	text_put(t, ".", 1);
	text_put(t, digits, len);
}

/* Length of the UTF-8 character at str, [0..len), len > 0; 0: invalid. Source: RFC 3629, section 4.
 */
static size_t utf8_len(const unsigned char *str, size_t len)
{
	static const struct {
		unsigned char first, last; /* of the first byte */
		unsigned char low, high;   /* of the second */
		unsigned char count;
	} rows[] = {
		{ 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str[0] < rows[i].first || str[0] > rows[i].last)
			continue;
		if (rows[i].count > len)
			return 0;
		if (rows[i].count > 1 && (str[1] < rows[i].low || str[1] > rows[i].high))
			return 0;
		for (size_t k = 2; k < rows[i].count; k++) {
			if ((str[k] & 0xc0) != 0x80)
				return 0;
		}
		return rows[i].count;
	}
	return 0;
}

static void put_hex(struct text *t, const char *before, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";
	const char pair[2] = { digits[byte >> 4], digits[byte & 15] };

	text_put_str(t, before);
	text_put(t, pair, sizeof pair);
}

static void put_escaped(struct text *t, unsigned char byte)
{
	static const char from[] = "\"\\\n\t\r\b\f";
	static const char to[] = "\"\\ntrbf";
	const char *at = byte ? strchr(from, byte) : NULL;

	if (at) {
		text_put(t, "\\", 1);
		text_put(t, &to[at - from], 1);
	} else {
		put_hex(t, "\\u00", byte);
	}
}

void text_put_visible(struct text *t, const char *str, size_t len)
{
	const unsigned char *at = (const unsigned char *)str;
	const unsigned char *end = at + len;

	while (at < end) {
		size_t n = utf8_len(at, (size_t)(end - at));

		if (n)
			text_put(t, at, n);
		else
			put_hex(t, "\\x", *at);
		at += n ? n : 1;
	}
}

void text_put_quoted(struct text *t, const char *str, size_t len)
{
	const unsigned char *at = (const unsigned char *)str;
	const unsigned char *end = at + len;

	text_put(t, "\"", 1);
	while (at < end) {
		size_t n = utf8_len(at, (size_t)(end - at));

		if (n == 0)
			put_hex(t, "\\\\x", *at);
		else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f)
			put_escaped(t, *at);
		else
			text_put(t, at, n);
		at += n ? n : 1;
	}
	text_put(t, "\"", 1);
}
