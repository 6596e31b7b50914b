/* SPDX-License-Identifier: MIT */
/*
 * table: rows of cells laid out in aligned columns for a terminal or a text file.
 *
 * Texts are UTF-8 without controls (utf8_put_visible). Numbers are right-aligned, texts
 * left-aligned. All zero is a valid empty table; failure is remembered in its bufs.
 */
#ifndef VIEW_TABLE_H
#define VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define TABLE_MAX_COLUMNS 48

enum table_color {
	TABLE_PLAIN,
	TABLE_STRONG, /* what the rows are about */
	TABLE_FAINT,  /* what is seldom read */
	TABLE_WARM,   /* at least 0.5 % of the whole */
	TABLE_HOT,    /* at least 5 % of the whole */
	TABLE_GOOD,   /* less cost */
	TABLE_BAD,    /* more cost */
};

struct table_column {
	const char *heading; /* the end "_percent" is shown as " %", "_ns" and "_bytes" are not; '_'
				is ' ' */
	bool is_text;
	bool is_name; /* what the row is about: cut less than other texts */
	bool is_left_out;
	size_t width; /* terminal columns of the heading and the widest cell */
};

struct table {
	struct table_column columns[TABLE_MAX_COLUMNS];
	size_t column_count;
	size_t at;        /* column of the next cell */
	bool is_cut;      /* it must fit a width */
	bool is_strict;   /* and when cutting texts is not enough, the last numbers are left out */
	struct buf text;  /* of all cells */
	struct buf items; /* struct item of table.c: starts of rows, gaps, cells */
};

void table_fini(struct table *t);

/* All columns before the first row. heading: a literal, borrowed. */
void table_add_column(struct table *t, const char *heading, bool is_text);

void table_begin_row(struct table *t);
void table_put_gap(struct table *t); /* an empty line */

/* The next cell of the row. prefix_len, suffix_len: bytes at the start and the end of text that
 * are cut last. */
void table_put_cell(struct table *t, const char *text, size_t len, size_t prefix_len,
		    size_t suffix_len, enum table_color color);

/* Appends the table, its headings first. width: in terminal columns, 0: no limit; longer
 * texts are cut in the middle, absolute paths at the start, names as shorten_name() has it. color:
 * with SGR sequences. */
void table_write(struct table *t, size_t width, bool has_color, struct buf *out);

#endif
