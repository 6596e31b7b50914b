/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/decimal.h"

#include <errno.h>

#include "tap.h"

static const char *text_of(struct decimal f)
{
	static char text[64];
	CLEANUP(buf_fini) struct buf b = { 0 };

	decimal_put(&b, f);
	snprintf(text, sizeof text, "%s", b.data);
	return text;
}

static void test_parse(void)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{ "0", "0" },
		{ "12", "12" },
		{ "0.000001", "0.000001" },
		{ "39.5", "39.500000" },
		{ "1.1234567", "1.123456" },
		{ "1000000000000000", "1000000000000000" },
		{ "1000000000000001", NULL },
		{ "99999999999999999999999999999", NULL },
		{ "", NULL },
		{ "-1", NULL },
		{ "+1", NULL },
		{ ".5", NULL },
		{ "5.", NULL },
		{ "1e3", NULL },
		{ "nan", NULL },
		{ "0x10", NULL },
		{ "1 ", NULL },
		{ "1.2.3", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct decimal f;
		struct err e;
		int rc = decimal_parse(&f, rows[i].text, strlen(rows[i].text), &e);

		CHECK_INT(rc, rows[i].want ? 0 : -EINVAL);
		if (rc == 0 && rows[i].want)
			CHECK_STR(text_of(f), rows[i].want);
	}
}

static void test_sums(void)
{
	struct decimal sum = { 0 };

	decimal_add(&sum, (struct decimal){ 1, 999999, true });
	decimal_add(&sum, (struct decimal){ 2, 2, true });
	CHECK_STR(text_of(sum), "4.000001");
	for (int i = 0; i < 3; i++)
		decimal_add(&sum, (struct decimal){ .integer = INT64_MAX / 2 });
	CHECK_INT(sum.integer, INT64_MAX);
}

static void test_ranges(void)
{
	struct range r = { .ranks = 0 };

	CHECK(range_mean(&r) == 0 && range_imbalance(&r) == 0);
	range_add(&r, 3, (struct decimal){ .integer = 10 });
	range_add(&r, 4, (struct decimal){ .integer = 30 });
	range_add(&r, 5, (struct decimal){ .integer = 30 });
	CHECK_INT(r.min_rank, 3);
	CHECK_INT(r.max_rank, 4);
	range_fill(&r, 3, 9);
	CHECK_INT(r.min_rank, 3);
	range_fill(&r, 5, 6);
	CHECK_INT(r.min_rank, 6);
	CHECK_INT(r.ranks, 5);
	CHECK(range_mean(&r) == 14);
	CHECK(range_imbalance(&r) > 2.14 && range_imbalance(&r) < 2.15);
}

int main(void)
{
	TAP_CASE(test_parse);
	TAP_CASE(test_sums);
	TAP_CASE(test_ranges);
	return tap_done();
}
