/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "base/str.h"
#include "tap.h"

static void test_start_and_end(void)
{
	static const struct {
		const char *text, *part;
		bool starts, ends, equals;
	} rows[] = {
		{ "libc.so", "lib", true, false, false },
		{ "libc.so", ".so", false, true, false },
		{ "libc.so", "libc.so", true, true, true },
		{ ".so", "libc.so", false, false, false },
		{ "libc.so", "", true, true, false },
		{ "", "", true, true, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct str s = { rows[i].text, strlen(rows[i].text) };

		CHECK_INT(str_starts_with(s, rows[i].part), rows[i].starts);
		CHECK_INT(str_ends_with(s, rows[i].part), rows[i].ends);
		CHECK_INT(str_equals(s, rows[i].part), rows[i].equals);
		CHECK_INT(text_starts_with(rows[i].text, rows[i].part), rows[i].starts);
		CHECK_INT(text_ends_with(rows[i].text, rows[i].part), rows[i].ends);
	}
}

static void test_words(void)
{
	struct str rest = { " \tone two ", 10 }, word = str_take_word(&rest);

	CHECK(str_equals(word, "one"));
	CHECK(str_equals(str_trim(rest), "two"));
	CHECK(str_equals(str_take_word(&rest), "two"));
	CHECK_INT(str_take_word(&rest).len, 0);
	CHECK_INT(rest.len, 0);
	CHECK_INT(str_trim((struct str){ "  ", 2 }).len, 0);
}

static void test_parts(void)
{
	struct str s = { "a -> b", 6 }, none = { NULL, 0 };

	CHECK_INT(str_find(s, "->"), 2);
	CHECK_INT(str_find(s, "a"), 0);
	CHECK_INT(str_find(s, "=>"), 6);
	CHECK(str_equals(str_part(s, 2, 4), "->"));
	CHECK(str_equals(str_skip_blanks(str_part(s, 1, 4)), "->"));
	CHECK_INT(str_find(none, "a"), 0);
	CHECK_INT(str_skip_blanks(none).len, 0);
	CHECK_INT(str_take_word(&none).len, 0);
	CHECK_INT(str_part(none, 0, 0).len, 0);
}

static void test_path(void)
{
	CHECK_STR(path_base("/bin/ls"), "ls");
	CHECK_STR(path_base("ls"), "ls");
	CHECK_STR(path_base("/bin/"), "/bin/");
	CHECK_INT(path_folder_len("/bin/ls"), 5);
	CHECK_INT(path_folder_len("ls"), 0);
}

int main(void)
{
	TAP_CASE(test_start_and_end);
	TAP_CASE(test_words);
	TAP_CASE(test_parts);
	TAP_CASE(test_path);
	return tap_done();
}
