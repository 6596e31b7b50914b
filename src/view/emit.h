/* SPDX-License-Identifier: MIT */
/*
 * emit: a head and rows, written once by a view, as a table, CSV or JSON.
 *
 * The view names each value by its key, in the same order in every row; the emitter decides
 * its form:
 *
 *	table	head as "# key: value" lines, aligned columns, values in words by their unit.
 *		The heading of a column is its key with spaces for '_', '%' for "percent", and
 *		without the "_ns" or "_bytes" at its end.
 *		Names are on one line and without control characters (utf8_put_visible).
 *	CSV	rows only: keys, then one line a row (RFC 4180 quoting, lines end with LF).
 *	JSON	one object: the head's members, then "rows": an array of objects, one a line.
 *
 * CSV and JSON have integers in full, in the profile's unit, and names in full; bytes that
 * are no UTF-8 become \xNN. Absent is not zero: it is "-", empty, null.
 *
 *	emit_begin(&out, &opts, &text);
 *	emit_head_str(&out, "file", path);
 *	emit_columns(&out);
 *	put_row(&out, &nothing);                so that an empty table has its columns too
 *	for each row: emit_row(&out), emit_value(&out, "self", ...), ...
 *	emit_end(&out), emit_fini(&out)
 *
 * Keys are literals (borrowed for good, not escaped). Failure is remembered in the buf.
 */
#ifndef VIEW_EMIT_H
#define VIEW_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "view/table.h"

enum emit_format { EMIT_TABLE, EMIT_CSV, EMIT_JSON };
extern const char *const emit_formats[]; /* "table", "csv", "json", NULL: for OPT_CHOICE */

struct emit_opts {
	enum emit_format format;
	size_t width;    /* columns that a table may take; longer names are cut. 0: no limit */
	bool has_color;  /* tables only: SGR sequences */
	bool is_verbose; /* tables have the hidden columns and lines, too */
};

struct emit_column {
	const char *key;
	bool is_hidden; /* not in tables */
};

/* All members are the emitter's own. */
struct emit {
	struct emit_opts opts;
	struct buf *to;
	int state; /* enum state of emit.c */
	struct emit_column columns[TABLE_MAX_COLUMNS];
	size_t column_count;
	size_t at;              /* column of the next cell; members of the head so far */
	const char *list;       /* key of the list in the head being written */
	size_t item_count;      /* in that list */
	enum table_color color; /* of the next cell */
	bool is_hidden;         /* the next cell or line of the head */
	bool has_rows;
	struct buf scratch; /* a cell being made */
	struct buf notes;   /* lines under the table */
	struct table table;
};

void emit_begin(struct emit *out, const struct emit_opts *o, struct buf *to);
void emit_fit_strictly(struct emit *out);  /* a table: of what does not fit, numbers are left out */
int emit_end(struct emit *out) MUST_CHECK; /* completes the text: 0 or -ENOMEM */
void emit_fini(struct emit *out);          /* at any time */

/* The head: before emit_columns and the first row. */
void emit_head_str(struct emit *out, const char *key, const char *text);
void emit_head_int(struct emit *out, const char *key, int64_t value);
void emit_head_real(struct emit *out, const char *key, double value);
/* Words in tables; in JSON an integer, so key names its unit ("duration_ns"). */
void emit_head_value(struct emit *out, const char *key, int64_t value, const char *unit);
/* A list of texts: "# text" lines in tables, where only the first few are shown. */
void emit_head_list(struct emit *out, const char *key);
void emit_head_item(struct emit *out, const char *text);
void emit_head_list_end(struct emit *out);

/* The cells up to the first emit_row are no row: they only name the columns. */
void emit_columns(struct emit *out);
void emit_row(struct emit *out);

void emit_int(struct emit *out, const char *key, int64_t value);
void emit_value(struct emit *out, const char *key, int64_t value, const char *unit);
/* A value that is a difference: "+" before what is more in tables. */
void emit_change(struct emit *out, const char *key, int64_t value, const char *unit);
/* mark: behind the number in tables, "" elsewhere. */
void emit_real(struct emit *out, const char *key, double value, int decimals, const char *mark);
void emit_percent(struct emit *out, const char *key, int64_t part, int64_t whole);
/* after against before, in percent of before; without it "new" in tables, absent elsewhere. */
void emit_relative(struct emit *out, const char *key, int64_t before, int64_t after);
void emit_text(struct emit *out, const char *key, const char *text);
void emit_optional(struct emit *out, const char *key, const char *text); /* "" is absent */
void emit_bool(struct emit *out, const char *key, bool value);
void emit_none(struct emit *out, const char *key); /* absent */
/* A name with what only tables have around it: the lines of a tree, " (inlined)". */
void emit_name(struct emit *out, const char *key, const char *prefix, const char *name,
	       const char *suffix);

/* About the next cell, line of the head or item of it. */
void emit_hide(struct emit *out); /* not in tables, unless they are verbose */
void emit_color(struct emit *out, enum table_color color); /* in tables */

/* Tables only: an empty line between rows; a "# " line under them, or in the head. */
void emit_gap(struct emit *out);
void emit_note(struct emit *out, const char *fmt, ...) PRINTF(2, 3);

#endif
