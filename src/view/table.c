/* SPDX-License-Identifier: MIT */
#include "view/table.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/utf8.h"
#include "view/shorten.h"

#define GAP "  " /* between columns */
#define GAP_WIDTH 2
#define MIN_NAME_WIDTH 16 /* no column is cut below these */
#define MIN_TEXT_WIDTH 8
#define MAX_PADDED_WIDTH 100 /* longer texts stand out of a column that is not cut */
#define ELLIPSIS "…"

enum item_kind { ITEM_ROW, ITEM_GAP, ITEM_CELL };

struct item {
	size_t at;           /* of its bytes in the table's text */
	uint32_t len;        /* bytes */
	uint32_t prefix_len; /* bytes */
	uint32_t suffix_len; /* bytes */
	uint32_t width;      /* terminal columns */
	uint8_t kind;        /* enum item_kind */
	uint8_t color;       /* enum table_color */
};

void table_fini(struct table *t)
{
	buf_fini(&t->text);
	buf_fini(&t->items);
}

/* A heading is shown with blanks, "_percent" as " %", and without the unit that is for programs. */
static size_t shown_len(const char *heading, const char **ret_mark)
{
	static const char *const ends[][2] = { { "_percent", " %" },
					       { "_ns", "" },
					       { "_bytes", "" } };
	size_t len = strlen(heading);

	*ret_mark = "";
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t tail = strlen(ends[i][0]);

		if (len > tail && strcmp(heading + len - tail, ends[i][0]) == 0) {
			*ret_mark = ends[i][1];
			return len - tail;
		}
	}
	return len;
}

static size_t heading_width(const char *heading)
{
	const char *mark;

	return shown_len(heading, &mark) + strlen(mark);
}

static void put_heading(struct buf *out, const char *heading)
{
	const char *mark;
	size_t len = shown_len(heading, &mark);

	for (size_t i = 0; i < len; i++)
		buf_put_byte(out, heading[i] == '_' ? ' ' : (unsigned char)heading[i]);
	buf_put_str(out, mark);
}

void table_add_column(struct table *t, const char *heading, bool is_text)
{
	assert(t->column_count < TABLE_MAX_COLUMNS);
	t->columns[t->column_count++] = (struct table_column){ .heading = heading,
							       .is_text = is_text,
							       .width = heading_width(heading) };
}

static void put_item(struct table *t, const struct item *item)
{
	buf_put(&t->items, item, sizeof *item);
}

void table_begin_row(struct table *t)
{
	put_item(t, &(struct item){ .kind = ITEM_ROW });
	t->at = 0;
}

void table_put_gap(struct table *t)
{
	put_item(t, &(struct item){ .kind = ITEM_GAP });
}

void table_put_cell(struct table *t, const char *text, size_t len, size_t prefix_len,
		    size_t suffix_len, enum table_color color)
{
	size_t width = utf8_text_width(text, len);

	assert(t->at < t->column_count && prefix_len + suffix_len <= len);
	put_item(t, &(struct item){ .at = t->text.len,
				    .len = (uint32_t)len,
				    .prefix_len = (uint32_t)prefix_len,
				    .suffix_len = (uint32_t)suffix_len,
				    .width = (uint32_t)width,
				    .kind = ITEM_CELL,
				    .color = (uint8_t)color });
	buf_put(&t->text, text, len);
	if (t->columns[t->at].width < width)
		t->columns[t->at].width = width;
	t->at++;
}

/* One name of a thousand characters must not push all others to the right. */
static void limit_columns(struct table *t)
{
	for (size_t i = 0; i < t->column_count; i++)
		if (t->columns[i].width > MAX_PADDED_WIDTH)
			t->columns[i].width = MAX_PADDED_WIDTH;
}

/* What a text column keeps: headings are not cut. */
static size_t least_of(const struct table_column *c)
{
	size_t least = c->is_name ? MIN_NAME_WIDTH : MIN_TEXT_WIDTH;
	size_t heading = heading_width(c->heading);

	return heading > least ? heading : least;
}

/* How dear a text column is: the dearest one gives. Names count half; 0: it cannot give. */
static size_t dearness(const struct table_column *c)
{
	if (!c->is_text || c->width <= least_of(c))
		return 0;
	return c->is_name ? c->width : 2 * c->width;
}

/* Columns of the terminal that the table takes at least. */
static size_t least_width(const struct table *t)
{
	size_t width = 0;

	for (size_t i = 0; i < t->column_count; i++) {
		const struct table_column *c = &t->columns[i];

		if (!c->is_left_out)
			width += (dearness(c) ? least_of(c) : c->width) + (width ? GAP_WIDTH : 0);
	}
	return width;
}

static void leave_out(struct table *t, size_t limit)
{
	for (size_t i = t->column_count; i-- > 1 && least_width(t) > limit;)
		t->columns[i].is_left_out = !t->columns[i].is_text;
}

/* Takes from the texts until the table fits, as far as that is possible. */
static void fit_columns(struct table *t, size_t limit)
{
	size_t width = 0;

	for (size_t i = 0; i < t->column_count; i++)
		if (!t->columns[i].is_left_out)
			width += t->columns[i].width + (width ? GAP_WIDTH : 0);
	for (; width > limit; width--) {
		struct table_column *dearest = &t->columns[0];

		for (size_t i = 1; i < t->column_count; i++)
			if (dearness(&t->columns[i]) > dearness(dearest))
				dearest = &t->columns[i];
		if (!dearness(dearest))
			return;
		dearest->width--;
	}
}

static void put_spaces(struct buf *out, size_t count)
{
	while (count--)
		buf_put_byte(out, ' ');
}

/* The end of a text that fits into this many columns. */
static void put_tail(struct buf *out, const char *text, size_t len, size_t columns)
{
	size_t width = utf8_text_width(text, len), at = 0, step;

	while (at < len && width > columns) {
		width -= utf8_width(utf8_decode(text + at, len - at, &step));
		at += step;
	}
	buf_put(out, text + at, len - at);
}

/* Not a command with its arguments. */
static bool is_path(const char *text, size_t len)
{
	return len && text[0] == '/' && !memchr(text, ' ', len);
}

/* Of a text the start and the end with an ellipsis between, of a path the end alone, of a name
 * what matters most. */
static void put_shortened(struct buf *out, const char *text, size_t len, size_t columns,
			  bool is_name)
{
	size_t head = is_path(text, len) ? 0 : columns / 2;

	if (utf8_text_width(text, len) <= columns) {
		buf_put(out, text, len);
		return;
	}
	if (is_name && shorten_name(out, text, len, columns, ELLIPSIS))
		return;
	buf_put(out, text, utf8_fit(text, len, head));
	buf_put_str(out, ELLIPSIS);
	put_tail(out, text, len, columns - head - 1);
}

/* Of a long prefix only the end is left, of a long suffix nothing. */
static void put_cut(struct buf *out, const char *text, const struct item *cell, size_t columns,
		    bool is_name)
{
	size_t suffix_at = cell->len - cell->suffix_len;
	size_t prefix = utf8_text_width(text, cell->prefix_len);
	size_t suffix = utf8_text_width(text + suffix_at, cell->suffix_len);

	if (prefix > columns / 2) {
		buf_put_str(out, ELLIPSIS);
		/* an even number, because each step of a tree takes two columns */
		prefix = (columns / 2 - 1) / 2 * 2;
		put_tail(out, text, cell->prefix_len, prefix);
		prefix++;
	} else {
		buf_put(out, text, cell->prefix_len);
	}
	columns -= prefix;
	if (suffix > columns / 2)
		suffix = 0;
	put_shortened(out, text + cell->prefix_len, suffix_at - cell->prefix_len, columns - suffix,
		      is_name);
	if (suffix)
		buf_put(out, text + suffix_at, cell->suffix_len);
}

static void put_color(struct buf *out, enum table_color color)
{
	static const char *const sgr[] = {
		[TABLE_PLAIN] = "", [TABLE_STRONG] = "1", [TABLE_FAINT] = "2", [TABLE_WARM] = "32",
		[TABLE_HOT] = "31", [TABLE_GOOD] = "32",  [TABLE_BAD] = "31",
	};

	if (color != TABLE_PLAIN)
		buf_printf(out, "\033[%sm", sgr[color]);
}

static void put_cell(const struct table *t, size_t column, const struct item *cell, bool has_color,
		     struct buf *out)
{
	const struct table_column *c = &t->columns[column];
	const char *text = t->text.data + cell->at;
	size_t start, width;

	if (column)
		buf_put_str(out, GAP);
	if (!c->is_text && c->width > cell->width)
		put_spaces(out, c->width - cell->width);
	if (has_color)
		put_color(out, cell->color);
	start = out->len;
	if (t->is_cut && cell->width > c->width)
		put_cut(out, text, cell, c->width, c->is_name);
	else
		buf_put(out, text, cell->len);
	if (buf_error(out) < 0)
		return;
	width = utf8_text_width(out->data + start, out->len - start);
	if (has_color && cell->color != TABLE_PLAIN)
		buf_put_str(out, "\033[0m");
	if (c->is_text && column + 1 < t->column_count && width < c->width)
		put_spaces(out, c->width - width);
}

static void write_headings(const struct table *t, bool has_color, struct buf *out)
{
	if (has_color)
		buf_put_str(out, "\033[1m");
	for (size_t i = 0; i < t->column_count; i++) {
		const struct table_column *c = &t->columns[i];
		size_t shown = heading_width(c->heading);
		size_t pad = c->width > shown ? c->width - shown : 0;

		if (c->is_left_out)
			continue;
		if (i)
			buf_put_str(out, GAP);
		if (!c->is_text)
			put_spaces(out, pad);
		put_heading(out, c->heading);
		if (c->is_text && i + 1 < t->column_count)
			put_spaces(out, pad);
	}
	if (has_color)
		buf_put_str(out, "\033[0m");
	buf_put_byte(out, '\n');
}

static void trim_spaces(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
}

void table_write(struct table *t, size_t width, bool has_color, struct buf *out)
{
	size_t count = t->items.len / sizeof(struct item), column = 0;

	limit_columns(t);
	t->is_cut = width != 0;
	if (width && t->is_strict)
		leave_out(t, width);
	if (width && t->column_count)
		fit_columns(t, width);
	if (buf_error(&t->items) < 0 || buf_error(&t->text) < 0) {
		out->bad = true;
		return;
	}
	write_headings(t, has_color, out);
	for (size_t i = 0; i < count; i++) {
		struct item item;

		memcpy(&item, t->items.data + i * sizeof item, sizeof item);
		if (item.kind == ITEM_CELL) {
			if (!t->columns[column].is_left_out)
				put_cell(t, column, &item, has_color, out);
			column++;
			continue;
		}
		if (column) {
			trim_spaces(out);
			buf_put_byte(out, '\n');
		}
		column = 0;
		if (item.kind == ITEM_GAP)
			buf_put_byte(out, '\n');
	}
	if (column) {
		trim_spaces(out);
		buf_put_byte(out, '\n');
	}
}
