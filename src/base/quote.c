/* SPDX-License-Identifier: MIT */

#include "base/quote.h"

#include <string.h>

#include "base/utf8.h"

static void put_special(struct buf *out, int32_t character, unsigned char byte)
{
	switch (character) {
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
	case UTF8_BAD:
		buf_printf(out, "\\\\x%02x", byte);
		break;
	default:
		buf_printf(out, "\\u%04x", (unsigned)character);
	}
}

void quote_json(struct buf *out, const char *text, size_t len)
{
	size_t begin = 0, step;

	buf_put_byte(out, '"');
	for (size_t at = 0; at < len; at += step) {
		int32_t character = utf8_decode(text + at, len - at, &step);

		if (character != UTF8_BAD && character != '"' && character != '\\' &&
		    !utf8_is_control(character))
			continue;
		buf_put(out, text + begin, at - begin);
		put_special(out, character, (unsigned char)text[at]);
		begin = at + step;
	}
	buf_put(out, text + begin, len - begin);
	buf_put_byte(out, '"');
}

bool quote_is_formula(const char *text, size_t len)
{
	return len && strchr("=+-@", text[0]);
}

void quote_csv(struct buf *out, const char *text, size_t len)
{
	buf_put_str(out, quote_is_formula(text, len) ? "\"'" : "\"");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			buf_put_byte(out, '"');
		buf_put_byte(out, (unsigned char)text[i]);
	}
	buf_put_byte(out, '"');
}

void quote_shell(struct buf *out, const char *text, size_t len)
{
	buf_put_byte(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'')
			buf_put_str(out, "'\\'");
		buf_put_byte(out, (unsigned char)text[i]);
	}
	buf_put_byte(out, '\'');
}

static bool is_octal(const char *digits)
{
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' &&
	       digits[2] >= '0' && digits[2] <= '7';
}

size_t quote_undo_octal(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		if (*at == '\\' && is_octal(at + 1)) {
			*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

void quote_argument(struct buf *out, const char *arg)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_";

	if (arg[0] && strspn(arg, plain) == strlen(arg)) {
		buf_put_str(out, arg);
		return;
	}
	quote_shell(out, arg, strlen(arg));
}
