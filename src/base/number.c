/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/log.h"

int64_t number_end(bool is_negative)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&is_said))
		log_msg(LOG_WARN, "number",
			"values are too large, and stay at %" PRId64
			": sums and percentages of them are wrong",
			INT64_MAX);
	return is_negative ? -INT64_MAX : INT64_MAX;
}

size_t number_parse(const char *text, size_t len, uint64_t *ret)
{
	size_t at = 0;

	for (*ret = 0; at < len && number_is_digit(text[at]); at++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(text[at] - '0'), ret))
			return 0;
	return at;
}

size_t number_parse_hex(const char *text, size_t len, uint64_t *ret)
{
	size_t at = 0;

	for (*ret = 0; at < len && number_hex_digit(text[at]) >= 0; at++) {
		if (*ret >> 60)
			return 0;
		*ret = *ret << 4 | (uint64_t)number_hex_digit(text[at]);
	}
	return at;
}

void number_print_hex(char *out, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}
