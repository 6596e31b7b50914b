/* SPDX-License-Identifier: MIT */
#include "format/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/quote.h"
#include "base/rows.h"
#include "base/utf8.h"
#include "format/frame.h"

struct writer {
	const struct profile *p;
	struct rows keys;       /* uint32_t: string ids, in the order of their texts */
	struct rows path;       /* uint32_t: locations of a stack, leaf first */
	struct buf *out;        /* borrowed */
	struct buf text, valid; /* of a cell being made */
	bool is_begun;          /* the row has a cell */
};

static void writer_fini(struct writer *w)
{
	rows_fini(&w->keys);
	rows_fini(&w->path);
	buf_fini(&w->text);
	buf_fini(&w->valid);
}

static void next_cell(struct writer *w)
{
	if (w->is_begun)
		buf_put_byte(w->out, ',');
	w->is_begun = true;
}

/* In quotes only where it must be. */
static void put_cell(struct writer *w, const char *text, size_t len)
{
	next_cell(w);
	buf_clear(&w->valid);
	utf8_put_valid(&w->valid, text, len);
	if (buf_error(&w->valid) < 0)
		w->out->bad = true;
	else if (w->valid.len && (strpbrk(w->valid.data, "\r\n,\"") ||
				  quote_is_formula(w->valid.data, w->valid.len)))
		quote_csv(w->out, w->valid.data, w->valid.len);
	else
		buf_put(w->out, w->valid.data, w->valid.len);
}

/* The cell that was made in text. */
static void put_text(struct writer *w)
{
	if (buf_error(&w->text) < 0)
		w->out->bad = true;
	else
		put_cell(w, w->text.data, w->text.len);
}

static void put_int(struct writer *w, int64_t value)
{
	next_cell(w);
	buf_put_int(w->out, value);
}

static void end_row(struct writer *w)
{
	buf_put_byte(w->out, '\n');
	w->is_begun = false;
}

static int compare_keys(const void *left, const void *right, void *writer)
{
	const struct writer *w = writer;
	const uint32_t *a = left, *b = right;

	return strcmp(profile_text(w->p, *a), profile_text(w->p, *b));
}

/* The keys of all labels, each once. */
static int collect_keys(struct writer *w, struct err *e)
{
	CLEANUP(map_fini) struct map seen = { 0 };

	for (uint32_t set = 0; set < profile_label_set_count(w->p); set++) {
		size_t count;
		const struct label *labels = profile_get_labels(w->p, set, &count);

		for (size_t i = 0; i < count; i++) {
			uint32_t *slot = map_at(&seen, labels[i].key), *row;

			if (slot && *slot != MAP_NONE)
				continue;
			if (w->keys.count == CSV_MAX_KEYS)
				return err_set(e, -EFBIG, "more than %d kinds of labels",
					       CSV_MAX_KEYS);
			row = slot ? rows_add(&w->keys, sizeof *row) : NULL;
			if (!row)
				return err_nomem(e);
			*slot = 0;
			*row = labels[i].key;
		}
	}
	return 0;
}

static void put_head(struct writer *w)
{
	static const char *const names[] = { "stack", "leaf", "module", "file", "line" };
	const uint32_t *keys = w->keys.data;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put_cell(w, names[i], strlen(names[i]));
	for (size_t i = 0; i < w->keys.count; i++) {
		buf_clear(&w->text);
		buf_printf(&w->text, "label:%s", profile_text(w->p, keys[i]));
		put_text(w);
	}
	for (size_t i = 0; i < profile_type_count(w->p); i++) {
		struct value_type t = profile_get_type(w->p, i);

		buf_clear(&w->text);
		buf_printf(&w->text, "%s/%s", profile_text(w->p, t.type),
			   profile_text(w->p, t.unit));
		put_text(w);
	}
	end_row(w);
}

/* Appends a frame to text. */
static void add_frame(struct writer *w, const struct location *l, uint32_t line)
{
	size_t start = w->text.len;

	frame_put_name(w->p, l, line, &w->text);
	if (buf_error(&w->text) == 0)
		for (size_t i = start; i < w->text.len; i++)
			if (w->text.data[i] == ';')
				w->text.data[i] = ':';
}

static void add_frames(struct writer *w, uint32_t location)
{
	struct location l = profile_get_location(w->p, location);
	uint32_t i = l.line_count ? l.line_count : 1; /* outermost first */

	while (i--) {
		if (w->text.len)
			buf_put_byte(&w->text, ';');
		add_frame(w, &l, i);
	}
}

static int put_stack(struct writer *w, uint32_t node)
{
	w->path.count = 0;
	for (; node; node = profile_get_node(w->p, node).parent) {
		uint32_t *row = rows_add(&w->path, sizeof *row);

		if (!row)
			return -ENOMEM;
		*row = profile_get_node(w->p, node).location;
	}
	buf_clear(&w->text);
	for (size_t i = w->path.count; i-- > 0;)
		add_frames(w, ((const uint32_t *)w->path.data)[i]);
	put_text(w);
	return 0;
}

static void put_leaf(struct writer *w, uint32_t node)
{
	struct location l = profile_get_location(w->p, profile_get_node(w->p, node).location);
	struct line line = l.line_count ? l.lines[0] : (struct line){ 0 };
	struct str path = profile_get_str(w->p, profile_get_mapping(w->p, l.mapping)->path);
	struct str file = profile_get_str(w->p, profile_get_function(w->p, line.function)->file);

	buf_clear(&w->text);
	if (node)
		add_frame(w, &l, 0);
	put_text(w);
	put_cell(w, path.ptr, path.len);
	put_cell(w, file.ptr, file.len);
	if (line.line > 0)
		put_int(w, line.line);
	else
		next_cell(w);
}

static void put_labels(struct writer *w, uint32_t set)
{
	const uint32_t *keys = w->keys.data;

	for (size_t i = 0; i < w->keys.count; i++) {
		const struct label *label =
			profile_find_label(w->p, set, profile_text(w->p, keys[i]));
		struct str text = profile_get_str(w->p, label ? label->str : 0);

		if (label && !label->str)
			put_int(w, label->num);
		else
			put_cell(w, text.ptr, text.len);
	}
}

static int put_sample(struct writer *w, struct sample s, struct err *e)
{
	if (put_stack(w, s.node) < 0)
		return err_nomem(e);
	put_leaf(w, s.node);
	put_labels(w, s.labels);
	for (size_t i = 0; i < profile_type_count(w->p); i++)
		put_int(w, s.values[i]);
	end_row(w);
	if (w->out->len > CSV_MAX_BYTES)
		return err_set(e, -EFBIG, "more than %zu GiB of text", CSV_MAX_BYTES >> 30);
	return buf_error(w->out) < 0 ? err_nomem(e) : 0;
}

static int csv_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p, .out = out };
	int rc;

	if (!profile_type_count(p))
		return err_set(e, -EINVAL, "there is no sample type");
	rc = collect_keys(&w, e);
	if (rc < 0)
		return rc;
	if (w.keys.count)
		qsort_r(w.keys.data, w.keys.count, sizeof(uint32_t), compare_keys, &w);
	put_head(&w);
	for (size_t i = 0; i < profile_sample_count(p) && rc == 0; i++)
		rc = put_sample(&w, profile_get_sample(p, i), e);
	return rc;
}

static const char *const suffixes[] = { ".csv", NULL };

const struct format format_csv = {
	.name = "csv",
	.summary = "a row for each stack and its labels: pandas, spreadsheets",
	.mark = "-",
	.lost = "times, addresses, lines of callers, units of labels",
	.suffixes = suffixes,
	.is_text = true,
	.write = csv_write,
};
