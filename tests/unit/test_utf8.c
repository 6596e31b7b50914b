/* SPDX-License-Identifier: MIT */
#include "base/quote.h"
#include "base/utf8.h"

#include "tap.h"

static void test_decode(void)
{
	static const struct {
		const char *text;
		int32_t character;
		size_t len;
	} rows[] = {
		{ "a", 'a', 1 },
		{ "\xc3\xa9", 0xe9, 2 },
		{ "\xe2\x82\xac", 0x20ac, 3 },
		{ "\xf0\x9f\x98\x80", 0x1f600, 4 },
		{ "\xf4\x8f\xbf\xbf", 0x10ffff, 4 },
		{ "\x80", UTF8_BAD, 1 },             /* continuation first */
		{ "\xc0\xaf", UTF8_BAD, 1 },         /* overlong '/' */
		{ "\xe0\x80\xaf", UTF8_BAD, 1 },     /* overlong '/' */
		{ "\xed\xa0\x80", UTF8_BAD, 1 },     /* surrogate */
		{ "\xf4\x90\x80\x80", UTF8_BAD, 1 }, /* over U+10FFFF */
		{ "\xe2\x82", UTF8_BAD, 1 },         /* cut short */
		{ "\xe2\x41\x41", UTF8_BAD, 1 },
		{ "\xff", UTF8_BAD, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = 0;

		CHECK_INT(utf8_decode(rows[i].text, strlen(rows[i].text), &len), rows[i].character);
		CHECK_INT(len, rows[i].len);
	}
}

static void test_clean(void)
{
	static const struct {
		const char *text;
		size_t len, clean;
		const char *out;
	} rows[] = {
		{ "", 0, 0, "" },
		{ "0123456789", 10, 10, "0123456789" },
		{ "01234\0"
		  "67",
		  8, 5, "01234\\x0067" },
		{ "0123456\xff"
		  "8\n\xfe",
		  11, 7, "0123456\\xff8\n\\xfe" },
		{ "\xc3\xa9t\xc3\xa9 012345\xc3", 13, 12, "\xc3\xa9t\xc3\xa9 012345\\xc3" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };

		CHECK_INT(utf8_clean_len(rows[i].text, rows[i].len), rows[i].clean);
		utf8_put_clean(&out, rows[i].text, rows[i].len);
		CHECK_STR(out.data ? out.data : "", rows[i].out);
	}
}

#define BYTES(literal) literal, sizeof(literal) - 1

static void test_escapes(void)
{
	static const struct {
		const char *text;
		size_t len;
		const char *visible, *valid, *json;
	} rows[] = {
		{ BYTES(""), "", "", "\"\"" },
		{ BYTES("a\"b\\c"), "a\"b\\c", "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ BYTES("1\n2\t3"), "1\\x0a2\\x093", "1\n2\t3", "\"1\\n2\\t3\"" },
		{ BYTES("\033[2J"), "\\x1b[2J", "\\x1b[2J", "\"\\u001b[2J\"" },
		{ BYTES("a\0b"), "a\\x00b", "a\\x00b", "\"a\\u0000b\"" },
		{ BYTES("\xff\xfe"), "\\xff\\xfe", "\\xff\\xfe", "\"\\\\xff\\\\xfe\"" },
		{ BYTES("\xe2\x80\xaegnp"), "\\u202egnp", "\\u202egnp", "\"\\u202egnp\"" },
		{ BYTES("\xe2\x80\x8bgnp"), "\\u200bgnp", "\\u200bgnp", "\"\\u200bgnp\"" },
		{ BYTES("\xc2\x9bm"), "\\u009bm", "\\u009bm", "\"\\u009bm\"" },
		{ BYTES("gr\xc3\xbcn"), "gr\xc3\xbcn", "gr\xc3\xbcn", "\"gr\xc3\xbcn\"" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };

		buf_put_str(&out, "");
		utf8_put_visible(&out, rows[i].text, rows[i].len);
		CHECK_STR(out.data, rows[i].visible);
		buf_clear(&out);
		utf8_put_valid(&out, rows[i].text, rows[i].len);
		CHECK_STR(out.data, rows[i].valid);
		buf_clear(&out);
		quote_json(&out, rows[i].text, rows[i].len);
		CHECK_STR(out.data, rows[i].json);
	}
}

static void test_width(void)
{
	static const struct {
		const char *text;
		size_t width;
		size_t fit4; /* bytes that fit into 4 columns */
	} rows[] = {
		{ "", 0, 0 },
		{ "abcdef", 6, 4 },
		{ "gr\xc3\xbcn", 4, 5 },
		{ "e\xcc\x81tude", 5, 6 },               /* combining acute */
		{ "a\xe6\xbc\xa2\xe5\xad\x97z", 6, 4 },  /* wide: 漢字 */
		{ "\xe2\x94\x94 \xe2\x94\x82 x", 5, 8 }, /* box drawing */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].text);

		CHECK_INT(utf8_text_width(rows[i].text, len), rows[i].width);
		CHECK_INT(utf8_fit(rows[i].text, len, 4), rows[i].fit4);
	}
}

int main(void)
{
	TAP_CASE(test_decode);
	TAP_CASE(test_clean);
	TAP_CASE(test_escapes);
	TAP_CASE(test_width);
	return tap_done();
}
