/* SPDX-License-Identifier: MIT */
#include "format/dot/dot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "format/dot/calls.h"
#include "format/frame.h"
#include "model/units.h"

#define NAME_COLUMNS 48

struct writer {
	const struct profile *p;
	const char *unit;
	struct calls calls;
	uint32_t *boxes; /* [box_count]: indices of functions */
	size_t box_count;
	uint32_t *number; /* [functions]: of its box */
	int64_t most;     /* largest self of a box */
	struct buf text;  /* of a name or value being written */
	struct buf *out;
};

static void writer_fini(struct writer *w)
{
	calls_fini(&w->calls);
	free(w->boxes);
	free(w->number);
	buf_fini(&w->text);
}

/* Text of a quoted string in which Graphviz finds no escape and no entity. */
static void put_quoted(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '&') {
			buf_put_str(out, "&amp;");
			continue;
		}
		if (text[i] == '"' || text[i] == '\\')
			buf_put_byte(out, '\\');
		buf_put_byte(out, (unsigned char)text[i]);
	}
}

/* What w->text has, cut to so many columns. */
static void put_text(struct writer *w, size_t columns)
{
	const char *text = w->text.data ? w->text.data : "";
	size_t fit = utf8_fit(text, w->text.len, columns);

	if (buf_error(&w->text) < 0)
		w->out->bad = true; /* clearing the text forgets it */
	if (fit == w->text.len) {
		put_quoted(w->out, text, fit);
		return;
	}
	put_quoted(w->out, text, utf8_fit(text, w->text.len, columns - 2));
	buf_put_str(w->out, "..");
}

static void take_name(struct writer *w, const struct called *f)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	struct str text = profile_get_str(w->p, f->name);

	if (text.len)
		buf_put(&name, text.ptr, text.len);
	else
		frame_put_module_name(w->p, f->mapping, &name);
	buf_clear(&w->text);
	if (buf_error(&name) < 0)
		w->out->bad = true;
	else
		utf8_put_visible(&w->text, name.data ? name.data : "", name.len);
}

/* "1.2 s (34.5%)" */
static void put_value(struct writer *w, int64_t value)
{
	buf_clear(&w->text);
	units_put(&w->text, value, w->unit);
	put_text(w, SIZE_MAX);
	buf_printf(w->out, " (%.1f%%)", 100 * (double)value / (double)w->calls.whole);
}

/* Between white and red, darker the larger the part is. */
static void put_color(struct writer *w, double part)
{
	static const int light[] = { 0xfa, 0xfa, 0xf7 }, dark[] = { 0xe8, 0x6a, 0x58 };

	buf_put_str(w->out, "\"#");
	for (size_t i = 0; i < ARRAY_LEN(light); i++)
		buf_printf(w->out, "%02x",
			   (unsigned)lround(light[i] + part * (dark[i] - light[i])));
	buf_put_byte(w->out, '"');
}

static void put_box(struct writer *w, size_t number)
{
	const struct called *f = calls_function(&w->calls, w->boxes[number]);
	double part = w->most > 0 && f->self > 0 ? (double)f->self / (double)w->most : 0;

	buf_printf(w->out, "\tn%zu [label=\"", number);
	take_name(w, f);
	put_text(w, NAME_COLUMNS);
	if (f->module && f->name) {
		const char *module = path_base(profile_text(w->p, f->module));

		buf_put_str(w->out, "\\n");
		buf_clear(&w->text);
		utf8_put_visible(&w->text, module, strlen(module));
		put_text(w, NAME_COLUMNS);
	}
	buf_put_str(w->out, "\\n");
	put_value(w, f->self);
	if (f->self != f->total) {
		buf_put_str(w->out, "\\nof ");
		put_value(w, f->total);
	}
	buf_put_str(w->out, "\", tooltip=\"");
	take_name(w, f);
	put_text(w, SIZE_MAX);
	buf_printf(w->out, "\", fontsize=%ld, fillcolor=", lround(9 + 11 * sqrt(part)));
	put_color(w, part);
	buf_put_str(w->out, "];\n");
}

static int compare_calls(const void *left, const void *right, void *context)
{
	const struct writer *w = context;
	const struct call *a = left, *b = right;
	uint32_t x = w->number[a->caller], y = w->number[b->caller];
	int order = (a->value < b->value) - (a->value > b->value);

	if (!order)
		order = (x > y) - (x < y);
	x = w->number[a->callee];
	y = w->number[b->callee];
	return order ? order : (x > y) - (x < y);
}

static void put_call(struct writer *w, const struct call *call)
{
	double part = fmin((double)call->value / (double)w->calls.whole, 1);

	buf_printf(w->out, "\tn%u -> n%u [label=\" ", w->number[call->caller],
		   w->number[call->callee]);
	buf_clear(&w->text);
	units_put(&w->text, call->value, w->unit);
	put_text(w, SIZE_MAX);
	buf_printf(w->out, "\", weight=%ld, penwidth=%ld%s];\n", lround(1 + 99 * part),
		   lround(1 + 7 * part), call->is_direct ? "" : ", style=dashed");
}

static void put_graph(struct writer *w, const char *type)
{
	int64_t least = w->calls.whole / DOT_LEAST_CALL;
	struct call *list = w->calls.list.data;

	buf_put_str(w->out, "digraph \"auger\" {\n\tlabelloc=t;\n\tlabel=\"");
	buf_clear(&w->text);
	utf8_put_visible(&w->text, type, strlen(type));
	put_text(w, SIZE_MAX);
	buf_put_str(w->out, ": ");
	buf_clear(&w->text);
	units_put(&w->text, w->calls.whole, w->unit);
	put_text(w, SIZE_MAX);
	buf_printf(w->out, ", %zu of %zu functions\";\n", w->box_count, w->calls.functions.count);
	buf_put_str(w->out,
		    "\tfontname=\"Helvetica\";\n"
		    "\tnode [shape=box, style=filled, fontname=\"Helvetica\", color=\"#777777\"];\n"
		    "\tedge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\"];\n");
	for (size_t i = 0; i < w->box_count; i++)
		put_box(w, i);
	if (w->calls.list.count)
		qsort_r(list, w->calls.list.count, sizeof *list, compare_calls, w);
	for (size_t i = 0; i < w->calls.list.count && i < DOT_MOST_CALLS; i++)
		if (list[i].value > 0 && list[i].value >= least)
			put_call(w, &list[i]);
	buf_put_str(w->out, "}\n");
}

static int dot_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p, .out = out };
	size_t type = profile_default_type(p);
	struct value_type t;
	int rc;

	if (!profile_type_count(p))
		return err_set(e, -EINVAL, "there is no sample type");
	t = profile_get_type(p, type);
	w.unit = profile_text(p, t.unit);
	rc = calls_sum(&w.calls, p, type, e);
	if (rc == 0 && w.calls.whole <= 0)
		return err_set(e, -EINVAL, "the samples add up to nothing that a graph can show");
	if (rc == 0)
		rc = calls_choose(&w.calls, DOT_MOST_BOXES, w.calls.whole / DOT_LEAST_BOX, &w.boxes,
				  &w.box_count, e);
	if (rc < 0)
		return rc;
	w.number = calloc(w.calls.functions.count + 1, sizeof *w.number);
	if (!w.number)
		return err_nomem(e);
	for (uint32_t i = 0; i < w.box_count; i++) {
		const struct called *f = calls_function(&w.calls, w.boxes[i]);

		w.number[w.boxes[i]] = i;
		w.most = f->self > w.most ? f->self : w.most;
	}
	put_graph(&w, profile_text(p, t.type));
	return 0;
}

static const char *const suffixes[] = { ".dot", ".gv", NULL };

const struct format format_dot = {
	.name = "dot",
	.summary = "the call graph for Graphviz, of one sample type",
	.mark = "-",
	.lost = "stacks, labels, times, small functions and calls",
	.suffixes = suffixes,
	.is_text = true,
	.write = dot_write,
};
