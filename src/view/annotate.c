/* SPDX-License-Identifier: MIT */
#include "view/annotate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "view/report.h"

#define HOT_SHARE 0.005 /* of the function's total, as in a tree */
#define BESIDE 3        /* rows before and behind a hot one, as grep -C3 */

struct writer {
	struct emit *out;
	const struct annotation *a;
	const char *unit;
	int64_t hottest; /* largest self of an instruction */
	double least;    /* total of what is hot */
	size_t hot_at;   /* of the costs: the first hot line that is not too far before */
	size_t lines_left_out, insns_left_out;
};

static int compare_insns(const void *left, const void *right)
{
	const struct code_line *a = left, *b = right;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->mapping != b->mapping)
		return a->mapping < b->mapping ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* A sample's address is an instruction's first byte; a return address less one, its last. */
static struct address_value cost_of(const struct annotation *a, const struct code_line *insn)
{
	struct address_value sum = { .mapping = insn->mapping, .address = insn->address };

	for (uint32_t i = 0; i < insn->size; i++) {
		const struct address_value *cost =
			line_values_find_address(a->costs, insn->mapping, insn->address + i);

		if (cost) {
			sum.self += cost->self;
			sum.total += cost->total;
		}
	}
	return sum;
}

static void put_costs(struct writer *w, int64_t self, int64_t total)
{
	emit_value(w->out, "self", self, w->unit);
	emit_percent(w->out, "self_percent", self, w->a->whole);
	emit_value(w->out, "total", total, w->unit);
	emit_percent(w->out, "total_percent", total, w->a->whole);
}

/* The columns of a script; has_line: the row is one of its lines. */
static void put_parts(struct writer *w, bool has_line, int64_t line)
{
	const struct annotation *a = w->a;

	if (a->parts && has_line) {
		struct script_line of = script_lines_find(a->parts, line);

		emit_value(w->out, "native", of.native, w->unit);
		emit_value(w->out, "copy", of.copy, w->unit);
	} else if (a->parts) {
		emit_none(w->out, "native");
		emit_none(w->out, "copy");
	}
	if (a->memory && has_line) {
		struct script_line of = script_lines_find(a->memory, line);

		number_add(&of.own, of.native);
		emit_value(w->out, "memory", of.own, a->memory_unit);
	} else if (a->memory) {
		emit_none(w->out, "memory");
	}
}

static void put_line(struct writer *w, int64_t line, const struct line_value *cost)
{
	size_t index = (size_t)line - 1;
	bool has_text = line > 0 && index < w->a->source_count;

	put_costs(w, cost ? cost->self : 0, cost ? cost->total : 0);
	put_parts(w, line > 0, line);
	if (line)
		emit_int(w->out, "line", line);
	else
		emit_none(w->out, "line");
	emit_none(w->out, "address");
	if (has_text)
		emit_text(w->out, "text", w->a->source[index]);
	else
		emit_text(w->out, "text", line ? "" : "(code of no known line)");
	emit_hide(w->out);
	emit_none(w->out, "inlined");
}

static bool is_hot(const struct writer *w, int64_t total)
{
	return total && fabs((double)total) >= w->least;
}

/* Does a line beside it, or itself, allocate memory? */
static bool is_beside_memory(const struct annotation *a, int64_t line)
{
	for (int64_t l = line - BESIDE; a->memory && l <= line + BESIDE; l++) {
		struct script_line of = script_lines_find(a->memory, l);

		if (of.own || of.native)
			return true;
	}
	return false;
}

/* Lines come in order. Line 0 is beside none. */
static bool is_line_shown(struct writer *w, int64_t line)
{
	const struct line_values *costs = w->a->costs;
	int64_t beside = line ? BESIDE : 0;

	if (!w->a->is_short || (line && line == w->a->start_line) || is_beside_memory(w->a, line))
		return true;
	for (; w->hot_at < costs->line_count; w->hot_at++) {
		const struct line_value *cost = &costs->lines[w->hot_at];

		if (cost->file == w->a->file && is_hot(w, cost->total) && (cost->line || !line) &&
		    cost->line >= line - beside)
			return cost->line <= line + beside;
	}
	return false;
}

/* Of the instructions of its line. */
static bool is_insn_shown(const struct writer *w, size_t at)
{
	const struct code_line *insns = w->a->insns;
	size_t i = at > BESIDE ? at - BESIDE : 0;

	if (!w->a->is_short)
		return true;
	for (; i < w->a->insn_count && i <= at + BESIDE; i++)
		if (insns[i].line == insns[at].line && is_hot(w, cost_of(w->a, &insns[i]).total))
			return true;
	return false;
}

static void put_insn(struct writer *w, const struct code_line *insn)
{
	struct address_value cost = cost_of(w->a, insn);
	CLEANUP(buf_fini) struct buf inlined = { 0 };
	bool is_hottest = cost.self && cost.self == w->hottest;
	char address[24];

	snprintf(address, sizeof address, "%" PRIx64, insn->address);
	if (insn->inlined)
		buf_printf(&inlined, "   ; inlined %s", insn->inlined);
	if (buf_error(&inlined) < 0)
		w->out->to->bad = true;
	emit_row(w->out);
	put_costs(w, cost.self, cost.total);
	put_parts(w, false, 0);
	emit_none(w->out, "line");
	emit_color(w->out, TABLE_FAINT);
	emit_text(w->out, "address", address);
	emit_color(w->out, is_hottest ? TABLE_HOT : TABLE_FAINT);
	emit_name(w->out, "text", is_hottest ? "  > " : "    ", insn->text,
		  inlined.data ? inlined.data : "");
	emit_hide(w->out);
	emit_optional(w->out, "inlined", insn->inlined ? insn->inlined : "");
}

/* The lines of the function: what is sampled, what has code, where it is declared. */
static void find_range(const struct annotation *a, int64_t *ret_first, int64_t *ret_last)
{
	int64_t first = a->start_line ? a->start_line : INT64_MAX, last = a->start_line;

	for (size_t i = 0; i < a->costs->line_count; i++) {
		const struct line_value *cost = &a->costs->lines[i];

		if (cost->file != a->file || !cost->line)
			continue;
		first = cost->line < first ? cost->line : first;
		last = cost->line > last ? cost->line : last;
	}
	for (size_t i = 0; i < a->insn_count; i++) {
		int64_t line = a->insns[i].line;

		if (line && line < first)
			first = line;
		if (line > last)
			last = line;
	}
	*ret_first = first;
	*ret_last = last;
}

static int64_t find_hottest(const struct annotation *a)
{
	int64_t hottest = 0;

	for (size_t i = 0; i < a->insn_count; i++) {
		int64_t self = cost_of(a, &a->insns[i]).self;

		hottest = self > hottest ? self : hottest;
	}
	return hottest;
}

/* One line and its code: insns [*at..), which belong to it or a later one. */
static void put_line_and_code(struct writer *w, int64_t line, size_t *at)
{
	const struct annotation *a = w->a;
	const struct line_value *cost = line_values_find(a->costs, a->file, line);
	bool has_code = *at < a->insn_count && a->insns[*at].line == line;
	bool is_shown = is_line_shown(w, line);

	if ((line || cost || has_code) && is_shown) {
		emit_row(w->out);
		put_line(w, line, cost);
	} else if (line) {
		w->lines_left_out++;
	}
	for (; *at < a->insn_count && a->insns[*at].line == line; ++*at)
		if (is_shown && is_insn_shown(w, *at))
			put_insn(w, &a->insns[*at]);
		else
			w->insns_left_out++;
}

/* The line to show behind this one: the next of the source within the function, else the next
 * that has code or costs; INT64_MAX: none. */
static int64_t next_line(const struct annotation *a, int64_t line, int64_t last, size_t at)
{
	int64_t next = INT64_MAX;

	if (line < last && line < (int64_t)a->source_count)
		return line + 1;
	if (at < a->insn_count)
		next = a->insns[at].line;
	for (size_t i = 0; i < a->costs->line_count; i++) {
		const struct line_value *cost = &a->costs->lines[i];

		if (cost->file == a->file && cost->line > line && cost->line < next)
			next = cost->line;
	}
	return next;
}

int annotate_put(struct emit *out, struct annotation *a, struct err *e)
{
	struct writer w = { .out = out, .a = a, .unit = report_unit(a->profile, a->type) };
	int64_t first, last;
	size_t at = 0;

	if (a->insn_count)
		qsort(a->insns, a->insn_count, sizeof *a->insns, compare_insns);
	w.hottest = find_hottest(a);
	w.least = fabs((double)a->costs->total) * HOT_SHARE;
	find_range(a, &first, &last);
	emit_columns(out);
	put_line(&w, 0, NULL);
	put_line_and_code(&w, 0, &at);
	for (int64_t line = first; line < INT64_MAX; line = next_line(a, line, last, at))
		put_line_and_code(&w, line, &at);
	if (w.lines_left_out || w.insns_left_out)
		emit_note(out, "lines left out: %zu, instructions: %zu; --all shows them",
			  w.lines_left_out, w.insns_left_out);
	return out->to->bad ? err_nomem(e) : 0;
}
