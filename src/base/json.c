/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "base/utf8.h"

static void put_special(struct buf *out, unsigned char byte)
{
	switch (byte) {
	case '"':
		buf_put_str(out, "\\\"");
		break;
	case '\\':
		buf_put_str(out, "\\\\");
		break;
	case '\n':
		buf_put_str(out, "\\n");
		break;
	case '\t':
		buf_put_str(out, "\\t");
		break;
	default:
		if (byte < 0x80)
			buf_printf(out, "\\u%04x", byte);
		else
			buf_printf(out, "\\\\x%02x", byte);
	}
}

void json_put_str(struct buf *out, const char *text, size_t len)
{
	size_t begin = 0, step;

	buf_put_byte(out, '"');
	for (size_t at = 0; at < len; at += step) {
		int32_t character = utf8_decode(text + at, len - at, &step);

		if (character >= 0x20 && character != '"' && character != '\\' && character != 0x7f)
			continue;
		buf_put(out, text + begin, at - begin);
		put_special(out, (unsigned char)text[at]);
		begin = at + step;
	}
	buf_put(out, text + begin, len - begin);
	buf_put_byte(out, '"');
}
