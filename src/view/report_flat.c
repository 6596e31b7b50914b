/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "view/report.h"

struct table_of {
	struct emit *out;
	const struct flat *flat;
	const char *unit;
	bool has_samples; /* a column for them, because the values are something else */
};

static void put_source(struct emit *out, const struct flat *f, uint32_t row)
{
	const struct frame *frame = flat_frame(f, row);
	const char *path = frames_text(&f->frames, frame->file);
	CLEANUP(buf_fini) struct buf source = { 0 };

	buf_printf(&source, "%s:%" PRId64, path_base(path), frame->line);
	if (buf_error(&source) < 0)
		out->to->bad = true;
	if (*path && frame->line && source.data)
		emit_text(out, "source", source.data);
	else
		emit_none(out, "source");
}

static void put_names(struct emit *out, const struct flat *f, uint32_t row)
{
	const struct frame *frame = flat_frame(f, row);
	const char *name =
		f->frames.by == FRAME_BY_ADDRESS ? flat_label(f, row) : flat_name(f, row);

	emit_name(out, "function", "", name, report_inlined_suffix(&f->rows[row]));
	emit_color(out, TABLE_FAINT);
	emit_optional(out, "module", flat_module(f, row));
	emit_hide(out);
	emit_text(out, "inlined", report_inlined_word(&f->rows[row]));
	emit_hide(out);
	emit_optional(out, "file", frames_text(&f->frames, frame->file));
	emit_hide(out);
	if (frame->line)
		emit_int(out, "line", frame->line);
	else
		emit_none(out, "line");
}

void report_put_names(struct emit *out, const struct flat *f, uint32_t row)
{
	if (f->frames.by == FRAME_BY_MODULE) {
		emit_text(out, "module", flat_name(f, row));
		return;
	}
	if (f->frames.by == FRAME_BY_LINE)
		put_source(out, f, row);
	put_names(out, f, row);
}

static void put_row(const struct table_of *t, uint32_t index)
{
	const struct flat_row *row = &t->flat->rows[index];
	int64_t whole = t->flat->rows[FLAT_ROOT].total;

	emit_value(t->out, "self", row->self, t->unit);
	emit_percent(t->out, "self_percent", row->self, whole);
	emit_value(t->out, "total", row->total, t->unit);
	emit_percent(t->out, "total_percent", row->total, whole);
	if (t->has_samples)
		emit_int(t->out, "samples", row->samples);
	report_put_names(t->out, t->flat, index);
}

static int put_rows(const struct table_of *t, const struct report_opts *o, struct err *e)
{
	uint32_t *rows;
	size_t count, shown;
	int64_t cut = 0;
	int rc = flat_sorted(t->flat, o->order, &rows, &count, e);

	if (rc < 0)
		return rc;
	shown = o->limit && o->limit < count ? o->limit : count;
	for (size_t i = 0; i < shown; i++) {
		emit_row(t->out);
		put_row(t, rows[i]);
	}
	for (size_t i = shown; i < count; i++)
		cut = stacks_add(cut, t->flat->rows[rows[i]].self);
	report_put_cut(t->out, count - shown, cut, t->flat->rows[FLAT_ROOT].total);
	free(rows);
	return 0;
}

/* The two sides of the address space. */
static void put_split(struct emit *out, const struct flat *flat, const char *unit)
{
	int64_t kernel = 0, user = 0;

	for (uint32_t i = FLAT_ROOT + 1; i < flat->row_count; i++) {
		int64_t *sum = flat_frame(flat, i)->kind == FRAME_KERNEL ? &kernel : &user;

		*sum = stacks_add(*sum, flat->rows[i].self);
	}
	emit_head_value(out, "kernel", kernel, unit);
	emit_head_value(out, "user", user, unit);
}

int report_flat(struct emit *out, const struct profile *p, const struct report_opts *o,
		enum frame_by by, struct err *e)
{
	struct flat flat;
	int samples_type = flat_samples_type(p);
	struct table_of table = { out, &flat, report_unit(p, o->type),
				  samples_type >= 0 && (size_t)samples_type != o->type };
	int rc = flat_init(&flat, p, by, o->type, samples_type, e);

	if (rc < 0)
		return rc;
	report_put_head(out, p, o);
	if (by == FRAME_BY_ADDRESS)
		put_split(out, &flat, table.unit);
	emit_columns(out);
	put_row(&table, FLAT_ROOT);
	rc = put_rows(&table, o, e);
	flat_fini(&flat);
	return rc;
}
