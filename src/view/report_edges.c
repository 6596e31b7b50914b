/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/pattern.h"
#include "view/edges.h"
#include "view/report.h"

/* The rows that each of the two questions is about. */
struct question {
	const struct flat *flat;
	bool *is_called;  /* [row_count]: its callers are shown */
	bool *is_calling; /* [row_count]: its callees are shown */
	bool *is_either;  /* [row_count] */
	size_t count;     /* rows in either */
};

struct lists {
	struct emit *out;
	const struct question *question;
	const struct edges *edges;
	const char *unit;
	size_t limit;
	size_t cut; /* rows that were */
};

static bool mark_exact(const struct flat *f, const char *name, bool *marks)
{
	bool found = false;

	for (uint32_t i = FLAT_ROOT + 1; i < f->row_count; i++) {
		marks[i] = f->rows[i].total && strcmp(flat_name(f, i), name) == 0;
		found |= marks[i];
	}
	return found;
}

static int none_matches(const struct flat *f, const char *regex, struct err *e)
{
	struct nearest near = nearest_start(regex, strlen(regex));

	for (uint32_t i = FLAT_ROOT + 1; i < f->row_count; i++)
		if (f->rows[i].total)
			nearest_add(&near, flat_name(f, i));
	return err_set(e, -ENOENT, "no function matches '%s'%s", regex, nearest_text(&near, ""));
}

static int mark_matches(const struct flat *f, const char *regex, bool *marks, struct err *e)
{
	CLEANUP(pattern_fini) struct pattern p = { 0 };
	bool found = mark_exact(f, regex, marks);
	int rc;

	if (found)
		return 0;
	rc = pattern_init(&p, regex, e);
	if (rc < 0)
		return rc;
	for (uint32_t i = FLAT_ROOT + 1; i < f->row_count; i++) {
		marks[i] = f->rows[i].total && pattern_matches(&p, flat_name(f, i));
		found |= marks[i];
	}
	if (pattern_error(&p) < 0)
		return err_nomem(e);
	return found ? 0 : none_matches(f, regex, e);
}

static void question_fini(struct question *q)
{
	free(q->is_called);
	free(q->is_calling);
	free(q->is_either);
}

static int question_init(struct question *q, const struct flat *f, const char *callers,
			 const char *callees, struct err *e)
{
	int rc = 0;

	*q = (struct question){ .flat = f };
	q->is_called = calloc(f->row_count, sizeof *q->is_called);
	q->is_calling = calloc(f->row_count, sizeof *q->is_calling);
	q->is_either = calloc(f->row_count, sizeof *q->is_either);
	if (!q->is_called || !q->is_calling || !q->is_either)
		rc = err_nomem(e);
	if (rc == 0 && callers)
		rc = mark_matches(f, callers, q->is_called, e);
	if (rc == 0 && callees)
		rc = mark_matches(f, callees, q->is_calling, e);
	if (rc < 0) {
		question_fini(q);
		return rc;
	}
	for (size_t i = 0; i < f->row_count; i++) {
		q->is_either[i] = q->is_called[i] || q->is_calling[i];
		q->count += q->is_either[i];
	}
	return 0;
}

/* row: at the far end of the edge; name: what to call it instead of its own, or NULL. */
static void put_row(const struct lists *l, uint32_t about, const char *relation, uint32_t row,
		    const char *name, int64_t value)
{
	const struct flat *f = l->question->flat;
	const struct flat_row *far = &f->rows[row];

	emit_hide(l->out);
	emit_text(l->out, "about", flat_label(f, about));
	emit_hide(l->out);
	emit_optional(l->out, "about_module", flat_module(f, about));
	emit_value(l->out, "value", value, l->unit);
	emit_percent(l->out, "share_percent", value, f->rows[about].total);
	emit_percent(l->out, "total_percent", value, f->rows[FLAT_ROOT].total);
	emit_text(l->out, "relation", relation);
	if (row == about && relation[0] == 'f')
		emit_color(l->out, TABLE_STRONG);
	emit_name(l->out, "function", "", name ? name : flat_label(f, row),
		  name ? "" : report_inlined_suffix(far));
	emit_color(l->out, TABLE_FAINT);
	emit_optional(l->out, "module", name ? "" : flat_module(f, row));
	emit_hide(l->out);
	emit_text(l->out, "inlined", name ? "no" : report_inlined_word(far));
}

static bool is_full(struct lists *l, size_t count)
{
	if (!l->limit || count < l->limit)
		return false;
	l->cut++;
	return true;
}

static void put_callers(struct lists *l, uint32_t row)
{
	size_t count;
	const uint32_t *ids = edges_callers(l->edges, row, &count);

	for (size_t i = 0; i < count; i++) {
		const struct edge *edge = &l->edges->list[ids[i]];

		if (is_full(l, i))
			continue;
		emit_row(l->out);
		put_row(l, row, "caller", edge->caller,
			edge->caller == FLAT_ROOT ? "[outermost]" : NULL, edge->value);
	}
}

static void put_callees(struct lists *l, uint32_t row)
{
	int64_t self = l->question->flat->rows[row].self;
	size_t count;
	const uint32_t *ids = edges_callees(l->edges, row, &count);

	if (self) {
		emit_row(l->out);
		put_row(l, row, "callee", row, "[self]", self);
	}
	for (size_t i = 0; i < count; i++) {
		const struct edge *edge = &l->edges->list[ids[i]];

		if (is_full(l, i))
			continue;
		emit_row(l->out);
		put_row(l, row, "callee", edge->callee, NULL, edge->value);
	}
}

static int put_lists(struct lists *l, struct err *e)
{
	const struct question *q = l->question;
	uint32_t *rows;
	size_t count, shown = 0;
	int rc = flat_sorted(q->flat, FLAT_BY_TOTAL, &rows, &count, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		if (!q->is_either[rows[i]])
			continue;
		if (shown++)
			emit_gap(l->out);
		if (q->is_called[rows[i]])
			put_callers(l, rows[i]);
		emit_row(l->out);
		put_row(l, rows[i], "function", rows[i], NULL, q->flat->rows[rows[i]].total);
		if (q->is_calling[rows[i]])
			put_callees(l, rows[i]);
	}
	free(rows);
	if (l->cut)
		emit_note(l->out, "%zu more callers and callees; -n 0 shows all", l->cut);
	return 0;
}

static int put_answer(struct emit *out, const struct profile *p, const struct report_opts *o,
		      const struct question *q, struct err *e)
{
	struct edges edges;
	struct lists lists = { out, q, &edges, report_unit(p, o->type), o->limit, 0 };
	int rc = edges_init(&edges, q->flat, q->is_either, e);

	if (rc < 0)
		return rc;
	report_put_head(out, p, o);
	emit_head_int(out, "matches", (int64_t)q->count);
	emit_columns(out);
	put_row(&lists, FLAT_ROOT, "", FLAT_ROOT, NULL, 0);
	rc = put_lists(&lists, e);
	edges_fini(&edges);
	return rc;
}

int report_edges(struct emit *out, const struct profile *p, const struct report_opts *o,
		 enum frame_by by, const char *callers, const char *callees, struct err *e)
{
	struct question question;
	struct flat flat;
	int rc = flat_init(&flat, p, by, o->type, -1, e);

	if (rc < 0)
		return rc;
	rc = question_init(&question, &flat, callers, callees, e);
	if (rc == 0) {
		rc = put_answer(out, p, o, &question, e);
		question_fini(&question);
	}
	flat_fini(&flat);
	return rc;
}
