/* SPDX-License-Identifier: MIT */
#include "base/quote.h"

#include <string.h>

#include "tap.h"

static void test_csv_and_shell(void)
{
	static const struct {
		const char *text, *csv, *shell;
	} rows[] = {
		{ "", "\"\"", "''" },
		{ "a b", "\"a b\"", "'a b'" },
		{ "a\"b", "\"a\"\"b\"", "'a\"b'" },
		{ "=1+1", "\"'=1+1\"", "'=1+1'" },
		{ "@x", "\"'@x\"", "'@x'" },
		{ "it's", "\"it's\"", "'it'\\''s'" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };

		quote_csv(&out, rows[i].text, strlen(rows[i].text));
		CHECK_STR(out.data, rows[i].csv);
		buf_clear(&out);
		quote_shell(&out, rows[i].text, strlen(rows[i].text));
		CHECK_STR(out.data, rows[i].shell);
	}
}

static void test_octal(void)
{
	static const char *const rows[][2] = {
		{ "", "" },         { "/a\\040b", "/a b" }, { "\\134\\012", "\\\n" },
		{ "\\04", "\\04" }, { "\\400", "\\400" },   { "a\\", "a\\" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[32];

		strcpy(text, rows[i][0]);
		CHECK_INT(quote_undo_octal(text), strlen(rows[i][1]));
		CHECK_STR(text, rows[i][1]);
	}
}

int main(void)
{
	TAP_CASE(test_csv_and_shell);
	TAP_CASE(test_octal);
	return tap_done();
}
