/* SPDX-License-Identifier: MIT */
#include "view/emit.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/utf8.h"
#include "model/units.h"

#define HOT_PERCENT 5.0
#define WARM_PERCENT 0.5
#define MAX_TABLE_ITEMS 8 /* of a list in the head */

enum state { STATE_HEAD, STATE_COLUMNS, STATE_ROWS };

const char *const emit_formats[] = { "table", "csv", "json", NULL };

void emit_begin(struct emit *out, const struct emit_opts *o, struct buf *to)
{
	*out = (struct emit){ .opts = *o, .to = to };
	if (o->format == EMIT_JSON)
		buf_put_str(to, "{");
}

/* In quotes only where it holds a separator or a quote. */
static void put_csv_str(struct emit *out, const char *text, size_t len)
{
	struct buf *to = out->to;
	struct buf *valid = &out->scratch;

	buf_clear(valid);
	utf8_put_valid(valid, text, len);
	if (buf_error(valid) < 0) {
		to->bad = true;
		return;
	}
	if (!valid->len ||
	    (!strpbrk(valid->data, "\r\n,\"") && !quote_is_formula(valid->data, valid->len))) {
		buf_put(to, valid->data, valid->len);
		return;
	}
	quote_csv(to, valid->data, valid->len);
}

static void put_str(struct emit *out, const char *text, size_t len)
{
	switch (out->opts.format) {
	case EMIT_TABLE:
		utf8_put_visible(&out->scratch, text, len);
		break;
	case EMIT_CSV:
		put_csv_str(out, text, len);
		break;
	case EMIT_JSON:
		quote_json(out->to, text, len);
		break;
	}
}

/* The head. */

/* The key without the unit that it names for programs, and with spaces. */
static void put_head_key(struct buf *to, const char *key)
{
	static const char *const suffixes[] = { "_ns", "_bytes" };
	size_t len = strlen(key);

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		size_t tail = strlen(suffixes[i]);

		if (len > tail && strcmp(key + len - tail, suffixes[i]) == 0)
			len -= tail;
	}
	buf_put_str(to, "# ");
	for (size_t i = 0; i < len; i++)
		buf_put_byte(to, key[i] == '_' ? ' ' : (unsigned char)key[i]);
	buf_put_str(to, ": ");
}

/* Where the value of a line of the head goes; NULL: nowhere in this format. */
static struct buf *open_head(struct emit *out, const char *key)
{
	bool is_hidden = out->is_hidden;

	assert(out->state == STATE_HEAD);
	out->is_hidden = false;
	if (out->opts.format == EMIT_CSV || (out->opts.format == EMIT_TABLE && is_hidden))
		return NULL;
	if (out->opts.format == EMIT_TABLE)
		put_head_key(out->to, key);
	else
		buf_printf(out->to, "%s\n\"%s\": ", out->at++ ? "," : "", key);
	return out->to;
}

static void close_head(struct emit *out)
{
	if (out->opts.format == EMIT_TABLE)
		buf_put_byte(out->to, '\n');
}

void emit_head_str(struct emit *out, const char *key, const char *text)
{
	if (!open_head(out, key))
		return;
	if (out->opts.format == EMIT_TABLE)
		utf8_put_visible(out->to, text, strlen(text));
	else
		quote_json(out->to, text, strlen(text));
	close_head(out);
}

void emit_head_int(struct emit *out, const char *key, int64_t value)
{
	if (!open_head(out, key))
		return;
	buf_put_int(out->to, value);
	close_head(out);
}

void emit_head_real(struct emit *out, const char *key, double value)
{
	if (!open_head(out, key))
		return;
	buf_printf(out->to, "%.6g", value);
	close_head(out);
}

void emit_head_value(struct emit *out, const char *key, int64_t value, const char *unit)
{
	if (!open_head(out, key))
		return;
	if (out->opts.format == EMIT_TABLE)
		units_put(out->to, value, unit);
	else
		buf_put_int(out->to, value);
	close_head(out);
}

void emit_head_list(struct emit *out, const char *key)
{
	out->list = key;
	out->item_count = 0;
	if (out->opts.format == EMIT_JSON && open_head(out, key))
		buf_put_byte(out->to, '[');
}

static bool has_room_in_head(const struct emit *out)
{
	return out->opts.is_verbose || out->item_count < MAX_TABLE_ITEMS;
}

void emit_head_item(struct emit *out, const char *text)
{
	bool is_hidden = out->is_hidden;

	out->is_hidden = false;
	if (out->opts.format == EMIT_TABLE && is_hidden)
		return;
	if (out->opts.format == EMIT_JSON) {
		buf_put_str(out->to, out->item_count ? ", " : "");
		quote_json(out->to, text, strlen(text));
	} else if (out->opts.format == EMIT_TABLE && has_room_in_head(out)) {
		buf_put_str(out->to, "# ");
		utf8_put_visible(out->to, text, strlen(text));
		buf_put_byte(out->to, '\n');
	}
	out->item_count++;
}

void emit_head_list_end(struct emit *out)
{
	if (out->opts.format == EMIT_JSON)
		buf_put_byte(out->to, ']');
	else if (!has_room_in_head(out) && out->item_count > MAX_TABLE_ITEMS)
		emit_note(out, "%s: %zu more", out->list, out->item_count - MAX_TABLE_ITEMS);
}

/* Columns and rows. */

void emit_columns(struct emit *out)
{
	assert(out->state == STATE_HEAD);
	if (out->opts.format == EMIT_JSON)
		buf_printf(out->to, "%s\n\"rows\": [", out->at ? "," : "");
	else if (out->opts.format == EMIT_TABLE && out->to->len)
		buf_put_byte(out->to, '\n');
	out->at = 0;
	out->state = STATE_COLUMNS;
}

static void end_columns(struct emit *out)
{
	out->state = STATE_ROWS;
	if (out->opts.format != EMIT_CSV)
		return;
	for (size_t i = 0; i < out->column_count; i++)
		buf_printf(out->to, "%s%s", i ? "," : "", out->columns[i].key);
	buf_put_byte(out->to, '\n');
}

static void end_row(struct emit *out)
{
	assert(out->at == out->column_count);
	if (out->opts.format == EMIT_CSV)
		buf_put_byte(out->to, '\n');
	else if (out->opts.format == EMIT_JSON)
		buf_put_byte(out->to, '}');
}

void emit_row(struct emit *out)
{
	assert(out->state != STATE_HEAD);
	if (out->state == STATE_COLUMNS)
		end_columns(out);
	else if (out->has_rows)
		end_row(out);
	if (out->opts.format == EMIT_TABLE)
		table_begin_row(&out->table);
	else if (out->opts.format == EMIT_JSON)
		buf_put_str(out->to, out->has_rows ? ",\n{" : "\n{");
	out->has_rows = true;
	out->at = 0;
}

static void name_column(struct emit *out, const char *key, bool is_text)
{
	assert(out->column_count < TABLE_MAX_COLUMNS);
	out->columns[out->column_count++] = (struct emit_column){ key, out->is_hidden };
	if (out->opts.format == EMIT_TABLE && !out->is_hidden)
		table_add_column(&out->table, key, is_text);
	out->is_hidden = false;
	out->color = TABLE_PLAIN;
}

/* Where the value of the next cell goes; NULL: nowhere, and the cell is done. */
static struct buf *open_cell(struct emit *out, const char *key, bool is_text)
{
	if (out->state == STATE_COLUMNS) {
		name_column(out, key, is_text);
		return NULL;
	}
	assert(out->at < out->column_count && strcmp(out->columns[out->at].key, key) == 0);
	if (out->opts.format == EMIT_TABLE) {
		buf_clear(&out->scratch);
		if (!out->columns[out->at].is_hidden) {
			out->table.columns[out->table.at].is_text |= is_text;
			return &out->scratch;
		}
		out->at++;
		out->is_hidden = false;
		return NULL;
	}
	if (out->at)
		buf_put_str(out->to, out->opts.format == EMIT_CSV ? "," : ", ");
	if (out->opts.format == EMIT_JSON)
		buf_printf(out->to, "\"%s\": ", key);
	return out->to;
}

/* prefix_len, suffix_len: as of table_put_cell() */
static void close_name(struct emit *out, size_t prefix_len, size_t suffix_len)
{
	if (out->opts.format == EMIT_TABLE) {
		if (buf_error(&out->scratch) < 0)
			out->to->bad = true;
		else
			table_put_cell(&out->table, out->scratch.len ? out->scratch.data : "",
				       out->scratch.len, prefix_len, suffix_len, out->color);
	}
	out->at++;
	out->is_hidden = false;
	out->color = TABLE_PLAIN;
}

static void close_cell(struct emit *out)
{
	close_name(out, 0, 0);
}

void emit_int(struct emit *out, const char *key, int64_t value)
{
	struct buf *to = open_cell(out, key, false);

	if (!to)
		return;
	buf_put_int(to, value);
	close_cell(out);
}

void emit_value(struct emit *out, const char *key, int64_t value, const char *unit)
{
	struct buf *to = open_cell(out, key, false);

	if (!to)
		return;
	if (out->opts.format == EMIT_TABLE)
		units_put(to, value, unit);
	else
		buf_put_int(to, value);
	close_cell(out);
}

void emit_change(struct emit *out, const char *key, int64_t value, const char *unit)
{
	bool is_table = out->opts.format == EMIT_TABLE;
	struct buf *to = open_cell(out, key, false);

	if (!to)
		return;
	if (is_table && value > 0)
		buf_put_byte(to, '+');
	if (is_table)
		units_put(to, value, unit);
	else
		buf_put_int(to, value);
	close_cell(out);
}

void emit_real(struct emit *out, const char *key, double value, int decimals, const char *mark)
{
	bool is_table = out->opts.format == EMIT_TABLE;
	struct buf *to = open_cell(out, key, false);

	if (!to)
		return;
	buf_printf(to, "%.*f%s", decimals, value, is_table ? mark : "");
	close_cell(out);
}

void emit_relative(struct emit *out, const char *key, int64_t before, int64_t after)
{
	bool is_table = out->opts.format == EMIT_TABLE;
	double percent = before ? 100.0 * ((double)after / (double)before - 1) : 0;
	struct buf *to;

	if (!before && !(is_table && after)) {
		emit_none(out, key);
		return;
	}
	to = open_cell(out, key, false);
	if (!to)
		return;
	if (!before)
		buf_put_str(to, "new");
	else if (is_table && !after)
		buf_put_str(to, "gone");
	else
		buf_printf(to, is_table ? "%+.2f%%" : "%.4f", percent);
	close_cell(out);
}

void emit_percent(struct emit *out, const char *key, int64_t part, int64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	struct buf *to;

	if (!whole) {
		emit_none(out, key);
		return;
	}
	to = open_cell(out, key, false);
	if (!to)
		return;
	if (out->opts.format == EMIT_TABLE)
		buf_printf(to, "%.2f%%", percent);
	else
		buf_printf(to, "%.4f", percent);
	if (out->color == TABLE_PLAIN)
		out->color = percent >= HOT_PERCENT    ? TABLE_HOT
			     : percent >= WARM_PERCENT ? TABLE_WARM
						       : TABLE_PLAIN;
	close_cell(out);
}

static void put_text(struct emit *out, const char *key, const char *prefix, const char *text,
		     const char *suffix)
{
	bool is_table = out->opts.format == EMIT_TABLE;
	struct buf *to = open_cell(out, key, true);

	if (!to)
		return;
	if (is_table)
		buf_put_str(to, prefix);
	put_str(out, text, strlen(text));
	if (is_table)
		buf_put_str(to, suffix);
	close_name(out, strlen(prefix), strlen(suffix));
}

void emit_name(struct emit *out, const char *key, const char *prefix, const char *name,
	       const char *suffix)
{
	size_t column = out->table.at;

	put_text(out, key, prefix, name, suffix);
	if (out->table.at > column)
		out->table.columns[column].is_name = true;
}

void emit_text(struct emit *out, const char *key, const char *text)
{
	put_text(out, key, "", text, "");
}

void emit_optional(struct emit *out, const char *key, const char *text)
{
	if (*text)
		emit_text(out, key, text);
	else
		emit_none(out, key);
}

void emit_bool(struct emit *out, const char *key, bool value)
{
	struct buf *to = open_cell(out, key, true);

	if (!to)
		return;
	if (out->opts.format == EMIT_TABLE)
		buf_put_str(to, value ? "yes" : "no");
	else
		buf_put_str(to, value ? "true" : "false");
	close_cell(out);
}

void emit_none(struct emit *out, const char *key)
{
	struct buf *to = open_cell(out, key, false);

	if (!to)
		return;
	if (out->opts.format != EMIT_CSV)
		buf_put_str(to, out->opts.format == EMIT_TABLE ? "-" : "null");
	close_cell(out);
}

void emit_hide(struct emit *out)
{
	out->is_hidden = !out->opts.is_verbose;
}

void emit_color(struct emit *out, enum table_color color)
{
	out->color = color;
}

void emit_gap(struct emit *out)
{
	if (out->opts.format == EMIT_TABLE && out->state == STATE_ROWS)
		table_put_gap(&out->table);
}

void emit_note(struct emit *out, const char *fmt, ...)
{
	char note[256];
	va_list args;

	if (out->opts.format != EMIT_TABLE)
		return;
	va_start(args, fmt);
	vsnprintf(note, sizeof note, fmt, args);
	va_end(args);
	buf_printf(out->state == STATE_HEAD ? out->to : &out->notes, "# %s\n", note);
}

void emit_fit_strictly(struct emit *out)
{
	out->table.is_strict = true;
}

int emit_end(struct emit *out)
{
	struct buf *to = out->to;

	assert(out->state != STATE_HEAD);
	if (out->state == STATE_COLUMNS)
		end_columns(out);
	if (out->has_rows)
		end_row(out);
	if (out->opts.format == EMIT_JSON)
		buf_put_str(to, out->has_rows ? "\n]\n}\n" : "]\n}\n");
	if (out->opts.format == EMIT_TABLE) {
		table_write(&out->table, out->opts.width, out->opts.has_color, to);
		buf_put(to, out->notes.data, out->notes.len);
		if (buf_error(&out->notes) < 0)
			to->bad = true;
	}
	return buf_error(to);
}

void emit_fini(struct emit *out)
{
	table_fini(&out->table);
	buf_fini(&out->scratch);
	buf_fini(&out->notes);
}
