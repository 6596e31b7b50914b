/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include "tap.h"

static void check(const char *wanted, const char *const *names, const char *expected)
{
	struct nearest n = nearest_start(wanted, strlen(wanted));

	nearest_add_list(&n, names);
	CHECK_STR(nearest_text(&n, ""), expected);
}

static void test_typing_errors(void)
{
	static const char *const names[] = { "record", "report", "relocate", "merge",
					     "diff",   "color",  "output",   NULL };
	static const struct {
		const char *wanted, *text;
	} rows[] = {
		{ "reocrd", "; did you mean 'record'?" }, /* swapped */
		{ "repot", "; did you mean 'report'?" },
		{ "reporting", "; did you mean 'report'?" },
		{ "colour", "; did you mean 'color'?" },
		{ "OUTPUT", "; did you mean 'output'?" },
		{ "dif", "; did you mean 'diff'?" },
		{ "re", "; did you mean 'record', 'report' or 'relocate'?" },
		{ "zzz", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].wanted, names, rows[i].text);
}

static void test_part_of_a_long_name(void)
{
	static const char *const names[] = {
		"std::vector<int, std::allocator<int> >::push_back(int&&)",
		"operator new(unsigned long)", "fill_matrix", NULL
	};

	check("push_bak", names,
	      "; did you mean 'std::vector<int, std::allocator<int> >::push_back(int&&)'?");
	check("fill", names, "; did you mean 'fill_matrix'?");
}

static void test_bounds(void)
{
	static char wanted[300], name[5000];
	const char *const names[] = { name, name, name, name, NULL };
	struct nearest n = nearest_start(wanted, sizeof wanted - 1);

	memset(wanted, 'a', sizeof wanted - 1);
	memset(name, 'a', sizeof name - 1);
	nearest_add_list(&n, names);
	CHECK_INT(n.count, NEAREST_MAX);
	CHECK(strlen(nearest_text(&n, "--")) < sizeof n.text);
}

int main(void)
{
	TAP_CASE(test_typing_errors);
	TAP_CASE(test_part_of_a_long_name);
	TAP_CASE(test_bounds);
	return tap_done();
}
