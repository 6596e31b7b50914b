/* SPDX-License-Identifier: MIT */
#include "format/stacktext/calltree_csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "format/stacktext/stacktext.h"

enum { MAX_CELLS = 64, MAX_LEVEL = 1000 };

struct cells {
	struct str list[MAX_CELLS]; /* without the quotes around them */
	size_t count;
};

/* Quoted cells may hold commas; a record is one line. */
static void split(struct str line, struct cells *ret)
{
	ret->count = 0;
	while (ret->count < MAX_CELLS) {
		struct str *cell = &ret->list[ret->count++];
		bool is_quoted = str_starts_with(line, "\"");
		size_t end = is_quoted;

		while (end < line.len && (is_quoted ? line.ptr[end] != '"' : line.ptr[end] != ','))
			end++;
		*cell = str_part(line, is_quoted, end);
		end = is_quoted ? end + str_find(str_part(line, end, line.len), ",") : end;
		if (end >= line.len)
			return;
		line = str_part(line, end + 1, line.len);
	}
}

/* The cell whose name begins and ends so; count: there is none. */
static size_t find_column(const struct cells *names, const char *start, const char *end)
{
	size_t i = 0;

	while (i < names->count &&
	       !(str_starts_with(names->list[i], start) && str_ends_with(names->list[i], end)))
		i++;
	return i;
}

/*
 * VTune
 */

/* ",12.5%,0.250" at the start of s */
static bool is_exact_tail(struct str s, double *ret_self)
{
	double unused;
	size_t len;

	if (!str_starts_with(s, ","))
		return false;
	s = str_part(s, 1, s.len);
	len = stacktext_decimal(s, &unused);
	if (!len || !str_starts_with(str_part(s, len, s.len), "%,"))
		return false;
	s = str_part(s, len + 2, s.len);
	return stacktext_decimal(s, ret_self) > 0;
}

/* A row as stackcollapse-vtune.pl takes it, quotes left out: the function ends before the comma at
 * *ret_name, its module before the one at *ret_module. */
static bool find_exact_tail(struct str row, size_t *ret_name, size_t *ret_module, double *ret_self)
{
	size_t name, module = row.len;

	while (module && !is_exact_tail(str_part(row, module, row.len), ret_self))
		module--;
	for (name = module; name && row.ptr[name - 1] != ',';)
		name--;
	if (!name)
		return false;
	*ret_name = name - 1;
	*ret_module = module;
	return true;
}

static void add_exact_row(struct stacktext *t, struct str line, struct buf *row, struct buf *name)
{
	size_t name_end, module_end, depth = 0;
	double self;
	char number[32];

	buf_clear(row);
	buf_clear(name);
	for (size_t i = 0; i < line.len; i++)
		if (line.ptr[i] != '"')
			buf_put_byte(row, (unsigned char)line.ptr[i]);
	if (buf_error(row) < 0) {
		stacktext_fail(t);
		return;
	}
	if (!row->len ||
	    !find_exact_tail((struct str){ row->data, row->len }, &name_end, &module_end, &self)) {
		stacktext_skip(t);
		return;
	}
	while (depth < name_end && str_is_blank(row->data[depth]))
		depth++;
	buf_put(name, row->data + name_end + 1, module_end - name_end - 1);
	buf_put_byte(name, '!');
	buf_put(name, row->data + depth, name_end - depth);
	if (buf_error(name) < 0) {
		stacktext_fail(t);
		return;
	}
	stacktext_set_depth(t, depth);
	stacktext_push(t, (struct str){ name->data, name->len });
	snprintf(number, sizeof number, "%.15g", self * 1000);
	if (self > 0)
		stacktext_add_text(t, false, number);
}

static void parse_vtune_exact(struct stacktext *t)
{
	CLEANUP(buf_fini) struct buf row = { 0 }, name = { 0 };
	struct str line;

	while (stacktext_line(t, &line))
		if (t->line_number > 1)
			add_exact_row(t, line, &row, &name);
}

struct vtune_columns {
	size_t stack, self, count;
};

static bool find_vtune(struct str header, struct vtune_columns *ret)
{
	struct cells names;

	split(header, &names);
	ret->count = names.count;
	ret->stack = find_column(&names, "Function Stack", "");
	ret->self = find_column(&names, "CPU Time:Self", "");
	return names.count > 1 && ret->stack < names.count && ret->self < names.count;
}

static void parse_vtune(struct stacktext *t)
{
	struct vtune_columns columns;
	struct cells cells;
	struct str line;

	if (t->is_exact) {
		parse_vtune_exact(t);
		return;
	}
	if (!stacktext_line(t, &line) || !find_vtune(line, &columns))
		return;
	stacktext_set_type(t, "cpu", "nanoseconds");
	while (stacktext_line(t, &line)) {
		struct str name;
		double self = 0;

		split(line, &cells);
		if (columns.stack >= cells.count || columns.self >= cells.count ||
		    !stacktext_decimal(cells.list[columns.self], &self)) {
			if (line.len)
				stacktext_skip(t);
			continue;
		}
		name = str_skip_blanks(cells.list[columns.stack]);
		stacktext_set_depth(t, cells.list[columns.stack].len - name.len);
		stacktext_push(t, name);
		if (self > 0)
			stacktext_add(t, false, (int64_t)rint(fmin(self * 1e9, 0x1p62)));
	}
}

static bool vtune_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct vtune_columns columns;
	struct str line;

	if (!cursor_line(&c, &line.ptr, &line.len))
		return false;
	return find_vtune(line, &columns);
}

/*
 * Visual Studio
 */

/* "8,735", "8.735": digits with what groups them. */
static bool parse_grouped(struct str s, int64_t *ret)
{
	char digits[32];
	size_t len = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (strchr("., \"", s.ptr[i]) && s.ptr[i])
			continue;
		if (!number_is_digit(s.ptr[i]) || len == sizeof digits)
			return false;
		digits[len++] = s.ptr[i];
	}
	return len && stacktext_number((struct str){ digits, len }, ret);
}

struct vsprof_row {
	int64_t level, inclusive, exclusive;
	struct str name;
};

static bool parse_vsprof_row(struct str line, struct vsprof_row *ret)
{
	struct cells cells;

	split(line, &cells);
	if (cells.count < 4 || !stacktext_number(str_trim(cells.list[0]), &ret->level) ||
	    !ret->level || ret->level > MAX_LEVEL || !cells.list[1].len)
		return false;
	ret->name = cells.list[1];
	return parse_grouped(cells.list[2], &ret->inclusive) &&
	       parse_grouped(cells.list[3], &ret->exclusive);
}

/* Without blanks, as stackcollapse-vsprof.pl does. */
static void push_without_blanks(struct stacktext *t, struct str name, struct buf *text)
{
	buf_clear(text);
	for (size_t i = 0; i < name.len; i++)
		if (!str_is_blank(name.ptr[i]))
			buf_put_byte(text, (unsigned char)name.ptr[i]);
	if (buf_error(text) < 0)
		stacktext_fail(t);
	else
		stacktext_push(t, (struct str){ text->data, text->len });
}

static void parse_vsprof(struct stacktext *t)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct vsprof_row row;
	struct str line;
	int64_t before = 0;

	while (stacktext_line(t, &line)) {
		size_t depth;

		if (t->line_number == 1 || !str_trim(line).len)
			continue;
		if (!parse_vsprof_row(line, &row)) {
			stacktext_skip(t);
			continue;
		}
		depth = (size_t)row.level - 1;
		if (t->is_exact && depth < stacktext_depth(t))
			stacktext_add(t, false, before);
		stacktext_set_depth(t, depth);
		before = row.inclusive;
		if (t->is_exact) {
			push_without_blanks(t, row.name, &text);
			continue;
		}
		stacktext_push(t, row.name);
		if (row.exclusive)
			stacktext_add(t, false, row.exclusive);
	}
	if (t->is_exact && stacktext_depth(t))
		stacktext_add(t, false, before);
}

static bool vsprof_detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line;

	if (!cursor_line(&c, &line.ptr, &line.len))
		return false;
	return str_starts_with(line, "Level,Function Name,Inclusive Samples,Exclusive Samples,");
}

static const struct stacktext_kind vtune = {
	.name = "vtune",
	.parse = parse_vtune,
	.keeps_order = true,
};
static const struct stacktext_kind vsprof = {
	.name = "vsprof",
	.parse = parse_vsprof,
	.keeps_order = true,
};

static const char *const suffixes[] = { NULL };

static int vtune_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&vtune, p, data, len, e);
}

static int vtune_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&vtune, data, len, out, e);
}

const struct format format_vtune = {
	.name = "vtune",
	.summary = "a call tree of VTune: -report top-down -format csv",
	.mark = "the columns of its first line",
	.lost = "other columns",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = vtune_detect,
	.read = vtune_read,
	.collapse = vtune_collapse,
};

static int vsprof_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&vsprof, p, data, len, e);
}

static int vsprof_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&vsprof, data, len, out, e);
}

const struct format format_vsprof = {
	.name = "vsprof",
	.summary = "a call tree of Visual Studio as CSV",
	.mark = "Level, Function Name in the first line",
	.lost = "other columns",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = vsprof_detect,
	.read = vsprof_read,
	.collapse = vsprof_collapse,
};
