/* SPDX-License-Identifier: MIT */
#include "model/units.h"

#include "tap.h"

static void test_put(void)
{
	static const struct {
		int64_t value;
		const char *unit, *text;
	} rows[] = {
		{ 0, "nanoseconds", "0" },
		{ 999, "nanoseconds", "999 ns" },
		{ 1000, "nanoseconds", "1.00 us" },
		{ 9994, "ns", "9.99 us" },
		{ 9995, "nanoseconds", "10.0 us" },
		{ 99949, "nanoseconds", "99.9 us" },
		{ 99950, "nanoseconds", "100 us" },
		{ 999499, "nanoseconds", "999 us" },
		{ 999500, "nanoseconds", "1.00 ms" },
		{ 1234567890, "nanoseconds", "1.23 s" },
		{ -1234567890, "nanoseconds", "-1.23 s" },
		{ 3590, "seconds", "3590 s" },
		{ 3600, "seconds", "1.00 h" },
		{ 45, "milliseconds", "45.0 ms" },
		{ 5, "microseconds", "5.00 us" },
		{ 2, "Minutes", "120 s" },
		{ INT64_MAX, "nanoseconds", "2562048 h" },
		{ INT64_MIN, "nanoseconds", "-2562048 h" },
		{ 0, "bytes", "0" },
		{ 1023, "bytes", "1023 B" },
		{ 1024, "bytes", "1.0 KiB" },
		{ 4 << 20, "bytes", "4.0 MiB" },
		{ (1 << 20) - 1, "bytes", "1.0 MiB" },
		{ 3, "kilobytes", "3.0 KiB" },
		{ INT64_MAX, "bytes", "8.0 EiB" },
		{ INT64_MAX, "kilobytes", "8.0 ZiB" },
		{ 12345, "count", "12345" },
		{ INT64_MIN, "count", "-9223372036854775808" },
		{ 7, "", "7" },
		{ 12, "requests", "12 requests" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };

		units_put(&out, rows[i].value, rows[i].unit);
		CHECK_STR(out.data, rows[i].text);
	}
}

int main(void)
{
	TAP_CASE(test_put);
	return tap_done();
}
