/* SPDX-License-Identifier: MIT */
#include "view/flame/svg.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void svg_put_text(struct buf *out, const char *text, size_t len)
{
	size_t begin = 0;

	for (size_t at = 0; at < len; at++) {
		const char *entity = entity_of(text[at]);

		if (!entity)
			continue;
		buf_put(out, text + begin, at - begin);
		buf_put_str(out, entity);
		begin = at + 1;
	}
	buf_put(out, text + begin, len - begin);
}

/* Bytes of the longest start of text, at most limit, that ends no character in its middle. */
static size_t cut_len(const char *text, size_t limit)
{
	size_t len = limit;

	while (len > 0 && limit - len < 4 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

/* Where the next U+FFFE or U+FFFF is, which are UTF-8 but no characters of XML. */
static const char *find_noncharacter(const char *text, size_t len)
{
	const char *end = text + len, *at = text;

	while (at && end - at >= 3) {
		at = memchr(at, 0xef, (size_t)(end - at) - 2);
		if (at && at[1] == '\xbf' && (at[2] == '\xbe' || at[2] == '\xbf'))
			return at;
		at = at ? at + 1 : NULL;
	}
	return NULL;
}

void svg_make_visible(struct buf *out, const char *text, size_t len, size_t limit)
{
	const char *end = text + (len > limit ? cut_len(text, limit) : len), *bad;

	while ((bad = find_noncharacter(text, (size_t)(end - text)))) {
		utf8_put_visible(out, text, (size_t)(bad - text));
		buf_put_str(out, bad[2] == '\xbe' ? "\\ufffe" : "\\uffff");
		text = bad + 3;
	}
	utf8_put_visible(out, text, (size_t)(end - text));
	if (len > limit)
		buf_put_str(out, "..");
}

void svg_put_fitted(struct buf *out, const char *text, size_t len, size_t columns)
{
	size_t fits = utf8_fit(text, len, columns);

	if (fits < len)
		fits = utf8_fit(text, len, columns > 2 ? columns - 2 : 0);
	svg_put_text(out, text, fits);
	if (fits < len)
		buf_put_str(out, "..");
}

void svg_put_px(struct buf *out, double px)
{
	int64_t tenths = llround(10 * px);

	if (tenths < 0)
		buf_put_byte(out, '-');
	tenths = tenths < 0 ? -tenths : tenths;
	buf_put_uint(out, (uint64_t)tenths / 10);
	if (tenths % 10) {
		buf_put_byte(out, '.');
		buf_put_byte(out, (unsigned char)('0' + tenths % 10));
	}
}

void svg_put_px_attr(struct buf *out, const char *name, double px)
{
	buf_put_byte(out, ' ');
	buf_put_str(out, name);
	buf_put_str(out, "=\"");
	svg_put_px(out, px);
	buf_put_byte(out, '"');
}
