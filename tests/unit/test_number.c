/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <string.h>

#include "tap.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		size_t digits, hex_digits;
		uint64_t value, hex_value;
	} rows[] = {
		{ "12 ", 2, 2, 12, 0x12 },
		{ "1fFg", 1, 3, 1, 0x1ff },
		{ "x", 0, 0, 0, 0 },
		{ "", 0, 0, 0, 0 },
		{ "18446744073709551615", 20, 0, UINT64_MAX, 0 },
		{ "18446744073709551616", 0, 0, 0, 0 },
		{ "ffffffffffffffff", 0, 16, 0, UINT64_MAX },
		{ "00ffffffffffffffff", 2, 18, 0, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint64_t value, hex_value;
		size_t len = strlen(rows[i].text);

		if (CHECK_INT(number_parse(rows[i].text, len, &value), rows[i].digits) &&
		    rows[i].digits)
			CHECK(value == rows[i].value);
		if (CHECK_INT(number_parse_hex(rows[i].text, len, &hex_value),
			      rows[i].hex_digits) &&
		    rows[i].hex_digits)
			CHECK(hex_value == rows[i].hex_value);
	}
}

static void test_print_hex(void)
{
	static const unsigned char bytes[] = { 0x00, 0x1f, 0xff };
	char text[7];

	number_print_hex(text, bytes, sizeof bytes);
	CHECK_STR(text, "001fff");
	number_print_hex(text, NULL, 0);
	CHECK_STR(text, "");
}

int main(void)
{
	TAP_CASE(test_parse);
	TAP_CASE(test_print_hex);
	return tap_done();
}
