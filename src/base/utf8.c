/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* How many bytes the first one announces, and the smallest character they may mean. */
static size_t announced_len(unsigned char first, int32_t *ret_min, int32_t *ret_bits)
{
	if (first >= 0xc2 && first <= 0xdf) {
		*ret_min = 0x80;
		*ret_bits = first & 0x1f;
		return 2;
	}
	if (first >= 0xe0 && first <= 0xef) {
		*ret_min = 0x800;
		*ret_bits = first & 0x0f;
		return 3;
	}
	if (first >= 0xf0 && first <= 0xf4) {
		*ret_min = 0x10000;
		*ret_bits = first & 0x07;
		return 4;
	}
	return 0;
}

int32_t utf8_decode(const char *text, size_t len, size_t *ret_len)
{
	unsigned char first = (unsigned char)text[0];
	int32_t min, character;
	size_t count;

	*ret_len = 1;
	if (first < 0x80)
		return first;
	count = announced_len(first, &min, &character);
	if (count == 0 || count > len)
		return UTF8_BAD;
	for (size_t i = 1; i < count; i++) {
		unsigned char next = (unsigned char)text[i];

		if ((next & 0xc0) != 0x80)
			return UTF8_BAD;
		character = character << 6 | (next & 0x3f);
	}
	if (character < min || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
		return UTF8_BAD;
	*ret_len = count;
	return character;
}

static void put_rest(struct buf *out, uint32_t character, unsigned count)
{
	while (count--)
		buf_put_byte(out, (unsigned char)(0x80 | (character >> (6 * count) & 0x3f)));
}

void utf8_put(struct buf *out, int32_t character)
{
	uint32_t c = (uint32_t)character;

	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		buf_put_byte(out, (unsigned char)c);
	} else if (c < 0x800) {
		buf_put_byte(out, (unsigned char)(0xc0 | c >> 6));
		put_rest(out, c, 1);
	} else if (c < 0x10000) {
		buf_put_byte(out, (unsigned char)(0xe0 | c >> 12));
		put_rest(out, c, 2);
	} else {
		buf_put_byte(out, (unsigned char)(0xf0 | c >> 18));
		put_rest(out, c, 3);
	}
}

struct range {
	int32_t first, last;
};

static bool is_in(const struct range *ranges, size_t count, int32_t character)
{
	for (size_t i = 0; i < count; i++)
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	return false;
}

/* The blocks that Unicode's EastAsianWidth.txt marks W or F, and the main blocks of
 * combining marks (general category Mn); rare scripts are taken as one column. */
unsigned utf8_width(int32_t character)
{
	static const struct range wide[] = {
		{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
		{ 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
		{ 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
		{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
	};
	static const struct range combining[] = {
		{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x064b, 0x065f },
		{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200d }, { 0x20d0, 0x20ff },
		{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
	};

	if (character < 0x300)
		return 1;
	if (is_in(combining, ARRAY_LEN(combining), character))
		return 0;
	return is_in(wide, ARRAY_LEN(wide), character) ? 2 : 1;
}

size_t utf8_text_width(const char *text, size_t len)
{
	size_t columns = 0, step;

	for (size_t at = 0; at < len; at += step)
		columns += utf8_width(utf8_decode(text + at, len - at, &step));
	return columns;
}

size_t utf8_fit(const char *text, size_t len, size_t columns)
{
	size_t at = 0, step;

	while (at < len) {
		unsigned width = utf8_width(utf8_decode(text + at, len - at, &step));

		if (width > columns)
			break;
		columns -= width;
		at += step;
	}
	return at;
}

/* C0, C1, spaces without width, line and paragraph separators, and the characters that turn the
 * direction of what follows (Unicode Technical Report 36, 2.10). */
bool utf8_is_control(int32_t character)
{
	static const struct range controls[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x200b, 0x200b }, { 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x2060 }, { 0x2066, 0x2069 }, { 0xfeff, 0xfeff },
	};

	return is_in(controls, ARRAY_LEN(controls), character);
}

static void put_escaped(struct buf *out, const char *text, size_t len,
			bool (*is_unwanted)(int32_t character))
{
	size_t begin = 0, step;

	for (size_t at = 0; at < len; at += step) {
		int32_t character = utf8_decode(text + at, len - at, &step);

		if (character != UTF8_BAD && !is_unwanted(character))
			continue;
		buf_put(out, text + begin, at - begin);
		if (character < 0x80)
			buf_printf(out, "\\x%02x", (unsigned char)text[at]);
		else
			buf_printf(out, "\\u%04x", (unsigned)character);
		begin = at + step;
	}
	buf_put(out, text + begin, len - begin);
}

void utf8_put_visible(struct buf *out, const char *text, size_t len)
{
	put_escaped(out, text, len, utf8_is_control);
}

static bool is_no_text(int32_t character)
{
	return character != '\t' && character != '\n' && character != '\r' &&
	       utf8_is_control(character);
}

void utf8_put_valid(struct buf *out, const char *text, size_t len)
{
	put_escaped(out, text, len, is_no_text);
}

/* Eight bytes of ASCII without a NUL, as most text is. */
static bool is_plain(const char *text)
{
	const uint64_t low = UINT64_C(0x0101010101010101), high = low << 7;
	uint64_t word;

	memcpy(&word, text, sizeof word);
	/* a byte less one borrows from its high bit when it is 0 */
	return !((word | (word - low)) & high);
}

size_t utf8_clean_len(const char *text, size_t len)
{
	size_t at = 0, step;

	while (at < len) {
		if (len - at >= sizeof(uint64_t) && is_plain(text + at)) {
			at += sizeof(uint64_t);
			continue;
		}
		if (utf8_decode(text + at, len - at, &step) <= 0)
			break;
		at += step;
	}
	return at;
}

void utf8_put_clean(struct buf *out, const char *text, size_t len)
{
	while (len) {
		size_t clean = utf8_clean_len(text, len);

		buf_put(out, text, clean);
		if (clean == len)
			return;
		buf_printf(out, "\\x%02x", (unsigned char)text[clean]);
		text += clean + 1;
		len -= clean + 1;
	}
}
