/* SPDX-License-Identifier: MIT */
#include "view/markdown.h"

#include "tap.h"

static void test_code(void)
{
	static const char *const rows[][2] = {
		{ "", "` `" },
		{ "a", "`a`" },
		{ "a b", "`a b`" },
		{ "a|b", "`a\\|b`" },
		{ "`", "`` ` ``" },
		{ "a``b`", "``` a``b` ```" },
		{ "new\nline", "`new\\x0aline`" },
		{ "\xff", "`\\xff`" },
		{ "<b>&amp;*x*", "`<b>&amp;*x*`" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };

		markdown_put_code(&out, rows[i][0], strlen(rows[i][0]));
		CHECK_STR(out.data, rows[i][1]);
	}
}

int main(void)
{
	TAP_CASE(test_code);
	return tap_done();
}
