/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"

static void test_empty(void)
{
	struct buf b = { 0 };

	CHECK_INT(buf_error(&b), 0);
	buf_clear(&b);
	CHECK(b.data == NULL);
	buf_put(&b, NULL, 0);
	CHECK_INT(b.len, 0);
	if (CHECK(b.data != NULL))
		CHECK_INT(b.data[0], 0);
	buf_fini(&b);
	buf_fini(&b);
}

static void test_grows(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };

	for (int i = 0; i < 10000; i++)
		buf_put_byte(&b, (unsigned char)i);
	CHECK_INT(b.len, 10000);
	CHECK_INT(b.data[10000], 0);
	CHECK(b.cap > b.len);
	for (int i = 0; i < 10000; i++)
		if (!CHECK_INT((unsigned char)b.data[i], i % 256))
			break;
	CHECK_INT(buf_error(&b), 0);
}

static void test_clear_keeps_memory(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	const char *data;

	buf_put_str(&b, "first");
	data = b.data;
	buf_clear(&b);
	CHECK_STR(b.data, "");
	buf_put_str(&b, "second");
	CHECK(b.data == data);
	CHECK_STR(b.data, "second");
}

static void test_numbers(void)
{
	static const struct {
		int64_t value;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 7, "7" },
		{ -7, "-7" },
		{ INT64_MAX, "9223372036854775807" },
		{ INT64_MIN, "-9223372036854775808" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };

		buf_put_int(&b, rows[i].value);
		CHECK_STR(b.data, rows[i].text);
	}
	for (int pass = 0; pass < 2; pass++) {
		CLEANUP(buf_fini) struct buf b = { 0 };

		buf_put_uint(&b, pass ? UINT64_MAX : 10);
		CHECK_STR(b.data, pass ? "18446744073709551615" : "10");
	}
}

static void test_varint(void)
{
	static const struct {
		uint64_t value;
		size_t len;
		unsigned char bytes[10];
	} rows[] = {
		{ 0, 1, { 0x00 } },
		{ 127, 1, { 0x7f } },
		{ 128, 2, { 0x80, 0x01 } },
		{ 300, 2, { 0xac, 0x02 } },
		{ UINT64_MAX, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };

		buf_put_varint(&b, rows[i].value);
		if (CHECK_INT(b.len, rows[i].len))
			CHECK(memcmp(b.data, rows[i].bytes, b.len) == 0);
	}
}

static void test_little_endian(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };

	buf_put_u32(&b, 0x04030201);
	buf_put_u64(&b, UINT64_C(0x0c0b0a0908070605));
	CHECK_INT(b.len, 12);
	for (int i = 0; i < 12; i++)
		CHECK_INT(b.data[i], i + 1);
}

/* Around the sizes where the text just fits into what is there, and just does not. */
static void test_printf_of_every_length(void)
{
	char want[400];

	memset(want, 'x', sizeof want);
	for (int len = 0; len < (int)sizeof want; len++) {
		CLEANUP(buf_fini) struct buf b = { 0 };

		buf_put_str(&b, "a");
		buf_printf(&b, "%.*s%s", len, want, "|");
		if (!CHECK_INT(b.len, len + 2) || !CHECK_INT(strlen(b.data), b.len) ||
		    !CHECK_INT(b.data[b.len - 1], '|'))
			return;
	}
}

static void test_failure_is_remembered(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };

	buf_put_str(&b, "kept");
	CHECK(buf_reserve(&b, SIZE_MAX) == NULL);
	CHECK_INT(buf_error(&b), -ENOMEM);
	buf_put_str(&b, "ignored");
	buf_put_byte(&b, 1);
	buf_printf(&b, "ignored");
	CHECK_STR(b.data, "kept");
	CHECK_INT(buf_error(&b), -ENOMEM);
	buf_clear(&b);
	CHECK_INT(buf_error(&b), 0);
	buf_put_str(&b, "new");
	CHECK_STR(b.data, "new");
}

int main(void)
{
	TAP_CASE(test_empty);
	TAP_CASE(test_grows);
	TAP_CASE(test_clear_keeps_memory);
	TAP_CASE(test_numbers);
	TAP_CASE(test_varint);
	TAP_CASE(test_little_endian);
	TAP_CASE(test_printf_of_every_length);
	TAP_CASE(test_failure_is_remembered);
	return tap_done();
}
