/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include <errno.h>

#include "tap.h"

struct inner {
	bool deep;
	const char *where;
};

struct args {
	bool all, quiet;
	uint64_t count, limit;
	double percent;
	const char *out;
	struct opt_list tags;
	int format;
	struct inner inner;
};

static const char *const formats[] = { "table", "csv", "json", NULL };

static const struct opt inner_opts[] = {
	OPT_FLAG('d', "deep", struct inner, deep, "go deep"),
	OPT_STR('w', "where", "FOLDER[,FOLDER...]", struct inner, where,
		"where to look, and also what this help looks like when its text is longer than "
		"what one line of a terminal holds"),
	OPT_END,
};

static const struct opt opts[] = {
	OPT_FLAG('a', "all", struct args, all, "everything"),
	OPT_FLAG('q', "quiet", struct args, quiet, "say nothing"),
	OPT_UINT('n', "count", "N", struct args, count, 0, 0, "how many (default 10)"),
	OPT_UINT(0, "limit", "N", struct args, limit, 1, 100, "between 1 and 100"),
	OPT_REAL('p', "percent", "P", struct args, percent, 0, 100, "cut-off"),
	OPT_STR('o', "output", "FILE", struct args, out, "where to write"),
	OPT_INCLUDE(struct args, inner, inner_opts),
	OPT_LIST('t', "tag", "KEY=VALUE", struct args, tags, "a tag; again for more"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, formats,
		   "how to write the rows (default table)"),
	OPT_HELP("show this help"),
	OPT_END,
};

enum { MAX_WORDS = 80 };

/* A command line, cut at blanks; the words point into text. */
struct line {
	char text[512];
	char *argv[MAX_WORDS];
	int argc;
	struct args args;
	int first;
	struct err e;
};

static int parse(struct line *l, const char *text, bool stop_at_operand)
{
	*l = (struct line){ .args.count = 10, .first = -1 };
	snprintf(l->text, sizeof l->text, "auger %s", text);
	for (char *word = strtok(l->text, " "); word; word = strtok(NULL, " "))
		l->argv[l->argc++] = word;
	return opt_parse(opts, &l->args, l->argc, l->argv, stop_at_operand, &l->first, &l->e);
}

/* The operands that are left, joined by blanks. */
static const char *operands(const struct line *l)
{
	static char text[512];
	size_t len = 0;

	text[0] = '\0';
	for (int i = l->first; i < l->argc; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len ? " " : "",
					l->argv[i]);
	return text;
}

static void test_values_land(void)
{
	static const char *const lines[] = {
		"-a -n 5 -p 2.5 -o x.svg -t a=1 -t b=2 -f csv -d -w /tmp",
		"-an5 -p2.5 -ox.svg -ta=1 -tb=2 -fcsv -dw/tmp",
		"--all --count 5 --percent 2.5 --output x.svg --tag a=1 --tag b=2 --format csv "
		"--deep --where /tmp",
		"--all --count=5 --percent=2.5 --output=x.svg --tag=a=1 --tag=b=2 --format=csv "
		"--deep --where=/tmp",
		"--all --count=0x5 -p 25e-1 -ox.svg --tag=a=1 --tag=b=2 -f json -f csv -d -w /tmp",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct line l;

		CHECK_INT(parse(&l, lines[i], false), 0);
		CHECK_STR(l.e.msg, "");
		CHECK(l.args.all && !l.args.quiet && l.args.inner.deep);
		CHECK_INT(l.args.count, 5);
		CHECK(l.args.percent > 2.49 && l.args.percent < 2.51);
		CHECK_STR(l.args.out, "x.svg");
		if (CHECK_INT(l.args.tags.count, 2)) {
			CHECK_STR(l.args.tags.items[0], "a=1");
			CHECK_STR(l.args.tags.items[1], "b=2");
		}
		CHECK_INT(l.args.format, 1);
		CHECK_STR(l.args.inner.where, "/tmp");
		CHECK_INT(l.first, l.argc);
	}
}

static void test_defaults_stay(void)
{
	struct line l;

	CHECK_INT(parse(&l, "", false), 0);
	CHECK_INT(l.args.count, 10);
	CHECK(l.args.out == NULL);
	CHECK_INT(l.first, 1);
}

static void test_operands(void)
{
	static const struct {
		const char *line;
		bool stop_at_operand;
		const char *operands;
		bool all;
	} rows[] = {
		{ "x y", false, "x y", false },
		{ "x -a y", false, "x y", true },
		{ "x y z -n 5 -a", false, "x y z", true },
		{ "x -- -a", false, "x -a", false },
		{ "-- -a --", false, "-a --", false },
		{ "-a --", false, "", true },
		{ "- -a", false, "-", true },
		{ "x -a y", true, "x -a y", false },
		{ "-a x -n 5", true, "x -n 5", true },
		{ "-a -- x -n 5", true, "x -n 5", true },
		{ "-a -- -- x", true, "-- x", true },
		{ "-o -- -a x", false, "x", true }, /* a value may look like an option */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line l;

		CHECK_INT(parse(&l, rows[i].line, rows[i].stop_at_operand), 0);
		CHECK_STR(operands(&l), rows[i].operands);
		CHECK_INT(l.args.all, rows[i].all);
	}
}

static void test_wrong_usage(void)
{
	static const struct {
		const char *line, *reason;
	} rows[] = {
		{ "--what", "unknown option '--what'" },
		{ "--what=5", "unknown option '--what'" },
		{ "--al", "unknown option '--al'; did you mean '--all'?" }, /* no abbreviations */
		{ "--allx", "unknown option '--allx'; did you mean '--all'?" },
		{ "--=x", "unknown option '--'" },
		{ "-x", "unknown option '-x'" },
		{ "-ax", "unknown option '-x'" },
		{ "-a-", "unknown option '--'" },
		{ "--all=yes", "option '--all' takes no value" },
		{ "--count", "option '--count' needs a value" },
		{ "x -n", "option '-n' needs a value" },
		{ "-n five", "--count: 'five' is not a whole number" },
		{ "-n -1", "--count: '-1' is not a whole number" },
		{ "-n +1", "--count: '+1' is not a whole number" },
		{ "-n 1.5", "--count: '1.5' is not a whole number" },
		{ "-n 0x", "--count: '0x' is not a whole number" },
		{ "--count=", "--count: '' is not a whole number" },
		{ "-n 18446744073709551616",
		  "--count: '18446744073709551616' is not a whole number" },
		{ "--limit 0", "--limit: '0' is not between 1 and 100" },
		{ "--limit 101", "--limit: '101' is not between 1 and 100" },
		{ "-p nan", "--percent: 'nan' is not a number" },
		{ "-p inf", "--percent: 'inf' is not a number" },
		{ "-p 5%", "--percent: '5%' is not a number" },
		{ "-p -1", "--percent: '-1' is not between 0 and 100" },
		{ "-f xml", "--format: 'xml' is not one of table|csv|json" },
		{ "-f js", "--format: 'js' is not one of table|csv|json; did you mean 'json'?" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line l;

		CHECK_INT(parse(&l, rows[i].line, false), -EINVAL);
		CHECK_INT(l.e.code, -EINVAL);
		CHECK_STR(l.e.msg, rows[i].reason);
	}
}

static void test_leading_zeros_are_decimal(void)
{
	struct line l;

	CHECK_INT(parse(&l, "-n 010", false), 0);
	CHECK_INT(l.args.count, 10);
}

static void test_list_is_bounded(void)
{
	char word[] = "-tx", *argv[2 + OPT_LIST_MAX] = { word };
	struct args args = { 0 };
	struct err e = { 0 };
	int first;

	for (int i = 0; i <= OPT_LIST_MAX; i++)
		argv[1 + i] = word;
	CHECK_INT(opt_parse(opts, &args, 1 + OPT_LIST_MAX, argv, false, &first, &e), 0);
	args.tags.count = 0;
	CHECK_INT(opt_parse(opts, &args, 2 + OPT_LIST_MAX, argv, false, &first, &e), -EINVAL);
	CHECK_STR(e.msg, "--tag: given more than 64 times");
}

static void test_help_is_asked_for(void)
{
	struct line l;

	CHECK_INT(parse(&l, "-a --help --what", false), OPT_HELP_ASKED);
	CHECK_INT(parse(&l, "-ah", false), OPT_HELP_ASKED);
	CHECK_INT(parse(&l, "x --help", true), 0);
}

static void test_help(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	opt_help(opts, &text);
	CHECK_STR(
		text.data,
		"  -a, --all                    everything\n"
		"  -q, --quiet                  say nothing\n"
		"  -n, --count N                how many (default 10)\n"
		"      --limit N                between 1 and 100\n"
		"  -p, --percent P              cut-off\n"
		"  -o, --output FILE            where to write\n"
		"  -d, --deep                   go deep\n"
		"  -w, --where FOLDER[,FOLDER...]\n"
		"                               where to look, and also what this help looks like when its text is\n"
		"                               longer than what one line of a terminal holds\n"
		"  -t, --tag KEY=VALUE          a tag; again for more\n"
		"  -f, --format table|csv|json  how to write the rows (default table)\n"
		"  -h, --help                   show this help\n");
}

static void test_complete(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	opt_complete(opts, &text);
	CHECK_STR(text.data, "-a --all\n-q --quiet\n-n --count=\n--limit=\n-p --percent=\n"
			     "-o --output=\n-d --deep\n-w --where=\n-t --tag=\n"
			     "-f --format=table|csv|json\n-h --help\n");
}

int main(void)
{
	TAP_CASE(test_values_land);
	TAP_CASE(test_defaults_stay);
	TAP_CASE(test_operands);
	TAP_CASE(test_wrong_usage);
	TAP_CASE(test_leading_zeros_are_decimal);
	TAP_CASE(test_list_is_bounded);
	TAP_CASE(test_help_is_asked_for);
	TAP_CASE(test_help);
	TAP_CASE(test_complete);
	return tap_done();
}
