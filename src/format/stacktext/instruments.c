/* SPDX-License-Identifier: MIT */
#include "format/stacktext/instruments.h"

#include <math.h>

#include "format/stacktext/stacktext.h"

/* Time is digits with a point, a blank, and its unit: "1.20 s". */
static bool parse_time(struct str s, double *ret_ms)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = { { " min", 60e3 }, { " s", 1e3 }, { " ms", 1 } };
	double value;
	size_t end = stacktext_decimal(s, &value);

	for (size_t i = 0; end && i < ARRAY_LEN(units); i++) {
		if (!str_equals(str_part(s, end, s.len), units[i].name))
			continue;
		*ret_ms = value * units[i].ms;
		return true;
	}
	return false;
}

struct row {
	double self_ms;
	size_t depth;
	struct str symbol;
};

/* The columns are: weight and share, own weight, a blank, the symbol. */
static bool parse_row(struct str line, struct row *ret)
{
	size_t tab = str_find(line, "\t"), percent = str_find(line, "%");
	struct str rest;

	if (tab == line.len || percent > tab)
		return false;
	rest = str_part(line, tab + 1, line.len);
	tab = str_find(rest, "\t \t");
	if (tab == rest.len || !parse_time(str_part(rest, 0, tab), &ret->self_ms))
		return false;
	rest = str_part(rest, tab + 3, rest.len);
	ret->symbol = str_skip_blanks(rest);
	ret->depth = rest.len - ret->symbol.len;
	return ret->symbol.len > 0;
}

static void parse(struct stacktext *t)
{
	struct str line;
	struct row row;

	stacktext_set_type(t, "cpu", "nanoseconds");
	while (stacktext_line(t, &line)) {
		if (t->line_number == 1)
			continue; /* names of columns */
		if (!parse_row(line, &row)) {
			if (line.len)
				stacktext_skip(t);
			continue;
		}
		stacktext_set_depth(t, row.depth);
		stacktext_push(t, row.symbol);
		if (t->is_exact)
			stacktext_add(t, false, (int64_t)rint(row.self_ms));
		else if (row.self_ms > 0)
			stacktext_add(t, false, (int64_t)rint(fmin(row.self_ms * 1e6, 0x1p62)));
	}
}

static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line;
	struct row row;

	if (!cursor_line(&c, &line.ptr, &line.len) || str_find(line, "\tSymbol Name") == line.len)
		return false;
	return cursor_line(&c, &line.ptr, &line.len) && parse_row(line, &row);
}

static const struct stacktext_kind kind = {
	.name = "instruments",
	.parse = parse,
	.keeps_order = true,
};

static int instruments_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static int instruments_collapse(const unsigned char *data, size_t len, struct buf *out,
				struct err *e)
{
	return stacktext_collapse(&kind, data, len, out, e);
}

static const char *const suffixes[] = { NULL };

const struct format format_instruments = {
	.name = "instruments",
	.summary = "a call tree of Apple's Instruments, by Edit > Deep Copy",
	.mark = "Symbol Name in the first line",
	.lost = "self times, which are computed",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = detect,
	.read = instruments_read,
	.collapse = instruments_collapse,
};
