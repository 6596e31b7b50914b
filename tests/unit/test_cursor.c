/* SPDX-License-Identifier: MIT */
#include "base/cursor.h"

#include <stdint.h>

#include "base/macros.h"
#include "tap.h"

static void test_fixed_numbers(void)
{
	static const unsigned char bytes[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
					       0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0xff };
	struct cursor c = cursor_make(bytes, sizeof bytes);

	CHECK_INT(cursor_left(&c), 15);
	CHECK_INT(cursor_u16(&c), 0x0201);
	CHECK_INT(cursor_u32(&c), 0x06050403);
	CHECK(cursor_u64(&c) == UINT64_C(0x0e0d0c0b0a090807));
	CHECK_INT(cursor_u8(&c), 0xff);
	CHECK(!c.bad);
	CHECK_INT(cursor_left(&c), 0);
}

static void test_reading_past_the_end(void)
{
	struct cursor c = cursor_make("abc", 3);

	CHECK_INT(cursor_u32(&c), 0);
	CHECK(c.bad);
	CHECK_INT(cursor_left(&c), 0);
	CHECK_INT(cursor_u8(&c), 0);
	CHECK(cursor_bytes(&c, 1) == NULL);
	CHECK(cursor_bytes(&c, 0) != NULL);
	CHECK_INT(cursor_varint(&c), 0);
}

static void test_nothing_at_all(void)
{
	struct cursor c = cursor_make(NULL, 0);
	const char *line;
	size_t len;

	CHECK_INT(cursor_left(&c), 0);
	CHECK(!cursor_line(&c, &line, &len));
	cursor_skip(&c, 0);
	CHECK(!c.bad);
	CHECK(cursor_cstr(&c, &len) == NULL);
	CHECK(c.bad);
}

static void test_varint(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		uint64_t value;
		bool bad;
	} rows[] = {
		{ "\x00", 1, 0, false },
		{ "\xac\x02", 2, 300, false },
		{ "\x80\x80\x00", 3, 0, false }, /* longer than needed */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0, true }, /* 65 bits */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 0, true },
		{ "\x80", 1, 0, true }, /* ends in the middle */
		{ "", 0, 0, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cursor c = cursor_make(rows[i].bytes, rows[i].len);

		CHECK(cursor_varint(&c) == rows[i].value);
		CHECK_INT(c.bad, rows[i].bad);
		CHECK_INT(cursor_left(&c), 0);
	}
}

/* Examples of the DWARF 5 standard, 7.6, and the ends of the range. */
static void test_leb128(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		uint64_t unsigned_value;
		int64_t signed_value;
	} rows[] = {
		{ "\x02", 1, 2, 2 },
		{ "\x7e", 1, 126, -2 },
		{ "\xff\x00", 2, 127, 127 },
		{ "\x81\x7f", 2, 16257, -127 },
		{ "\x80\x7f", 2, 16256, -128 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, UINT64_C(1) << 63, INT64_MIN },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, UINT64_C(1) << 63, INT64_MIN },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, UINT64_MAX >> 1, INT64_MAX },
		{ "\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12, 1, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cursor u = cursor_make(rows[i].bytes, rows[i].len), s = u;

		CHECK(cursor_uleb(&u) == rows[i].unsigned_value);
		CHECK(cursor_sleb(&s) == rows[i].signed_value);
		CHECK(!u.bad && !s.bad);
		CHECK_INT(cursor_left(&u) + cursor_left(&s), 0);
	}
}

static void test_leb128_without_end(void)
{
	struct cursor u = cursor_make("\x80\x80", 2), s = u;

	CHECK_INT(cursor_uleb(&u), 0);
	CHECK_INT(cursor_sleb(&s), 0);
	CHECK(u.bad && s.bad);
}

static void test_sub(void)
{
	struct cursor c = cursor_make("abcdef", 6), part = cursor_sub(&c, 4);

	CHECK_INT(cursor_u8(&part), 'a');
	CHECK_INT(cursor_left(&part), 3);
	CHECK_INT(cursor_u8(&c), 'e');
	part = cursor_sub(&c, 2);
	CHECK(part.bad && c.bad);
	CHECK_INT(cursor_left(&part), 0);
}

static void test_lines(void)
{
	static const char text[] = "one\n\ntwo\r\n\rthree\r";
	static const char *const lines[] = { "one", "", "two", "\rthree\r" };
	struct cursor c = cursor_make(text, sizeof text - 1);
	const char *line;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		if (!CHECK(cursor_line(&c, &line, &len)))
			return;
		if (CHECK_INT(len, strlen(lines[i])))
			CHECK(memcmp(line, lines[i], len) == 0);
	}
	CHECK(!cursor_line(&c, &line, &len));
	CHECK(!c.bad);
}

static void test_cstr(void)
{
	struct cursor c = cursor_make("one\0\0two", 8);
	size_t len = 99;

	CHECK_STR(cursor_cstr(&c, &len), "one");
	CHECK_INT(len, 3);
	CHECK_STR(cursor_cstr(&c, &len), "");
	CHECK_INT(len, 0);
	CHECK(cursor_cstr(&c, &len) == NULL);
	CHECK(c.bad);
	CHECK_INT(cursor_left(&c), 0);
}

int main(void)
{
	TAP_CASE(test_fixed_numbers);
	TAP_CASE(test_reading_past_the_end);
	TAP_CASE(test_nothing_at_all);
	TAP_CASE(test_varint);
	TAP_CASE(test_leb128);
	TAP_CASE(test_leb128_without_end);
	TAP_CASE(test_sub);
	TAP_CASE(test_lines);
	TAP_CASE(test_cstr);
	return tap_done();
}
