/* SPDX-License-Identifier: MIT */
#include "base/pattern.h"

#include <errno.h>

#include "tap.h"

static void test_matches(void)
{
	static const struct {
		const char *regex, *text;
		bool is_found, is_whole;
	} rows[] = {
		{ "main", "main", true, true },
		{ "main", "do_main", true, false },
		{ "^main$", "main", true, true },
		{ "a|b", "xb", true, false }, /* both sides must be whole */
		{ "a|b", "b", true, true },
		{ "[0-9]+", "42", true, true },
		{ "x", "y", false, false },
		{ "", "", true, true },
		{ "", "x", true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(pattern_fini) struct pattern found = { 0 }, whole = { 0 };
		struct err e = { 0 };

		CHECK_INT(pattern_init(&found, rows[i].regex, &e), 0);
		CHECK_INT(pattern_init_whole(&whole, rows[i].regex, &e), 0);
		CHECK_INT(pattern_matches(&found, rows[i].text), rows[i].is_found);
		CHECK_INT(pattern_matches(&whole, rows[i].text), rows[i].is_whole);
		CHECK_INT(pattern_error(&found), 0);
	}
}

static void test_bad_expression(void)
{
	struct pattern p;
	struct err e = { 0 };

	CHECK_INT(pattern_init(&p, "(", &e), -EINVAL);
	CHECK_STR(e.msg, "regular expression '(': Unmatched ( or \\(");
	pattern_fini(&p);
}

static void test_nothing_matches_nothing(void)
{
	struct pattern p = { 0 };

	CHECK(!pattern_matches(&p, ""));
	CHECK_INT(pattern_error(&p), 0);
	pattern_fini(&p);
}

int main(void)
{
	TAP_CASE(test_matches);
	TAP_CASE(test_bad_expression);
	TAP_CASE(test_nothing_matches_nothing);
	return tap_done();
}
