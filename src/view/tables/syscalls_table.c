/* SPDX-License-Identifier: MIT */
#include "view/tables/syscalls_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MISSING ENOENT
#define BAR_WIDTH 40

/* Cells that are shown as one row. */
struct row {
	uint32_t subject, call; /* 0: several */
	int32_t error;          /* of SYSCALLS_BY_ERRNO, else 0 */
	uint64_t count, errors, misses;
	struct latency latency;
	size_t first, cell_count; /* of the sorted cells */
};

struct view {
	struct syscalls *s;
	const struct syscalls_table *opts;
	const struct syscalls_cell **cells; /* [cell_count], those of one row beside each other */
	struct row *rows;                   /* [row_count] */
	size_t cell_count, row_count;
	uint64_t count, errors;
	int64_t total_ns;
};

static void view_fini(struct view *v)
{
	for (size_t i = 0; i < v->row_count; i++)
		latency_fini(&v->rows[i].latency);
	free(v->rows);
	free(v->cells);
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static uint64_t call_of(const struct view *v, const struct syscalls_cell *c)
{
	return v->s->by == SYSCALLS_BY_PATH ? 0 : c->call;
}

static uint64_t group_of(const struct view *v, const struct syscalls_cell *c)
{
	return v->s->by == SYSCALLS_BY_ERRNO ? (uint64_t)c->error : c->subject;
}

static int compare_cells(const void *a, const void *b, void *context)
{
	const struct syscalls_cell *x = *(const struct syscalls_cell *const *)a;
	const struct syscalls_cell *y = *(const struct syscalls_cell *const *)b;
	int by = order(group_of(context, x), group_of(context, y));

	if (!by)
		by = order(call_of(context, x), call_of(context, y));
	if (!by)
		by = order(y->count, x->count);
	if (!by)
		by = order((uint64_t)x->error, (uint64_t)y->error);
	return by ? by : order(x->call, y->call);
}

static const char *subject_name(const struct view *v, const struct row *r)
{
	return syscalls_text(v->s, syscalls_subject(v->s, r->subject)->name);
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct row *x = a, *y = b;
	const struct view *v = context;
	int by = v->s->by == SYSCALLS_BY_PATH ? order(y->misses, x->misses) : 0;

	if (!by)
		by = order((uint64_t)y->latency.total_ns, (uint64_t)x->latency.total_ns);
	if (!by)
		by = order(y->count, x->count);
	if (!by)
		by = strcmp(syscalls_text(v->s, x->call), syscalls_text(v->s, y->call));
	if (!by)
		by = strcmp(subject_name(v, x), subject_name(v, y));
	return by ? by : order(x->subject, y->subject);
}

static int sort_cells(struct view *v, struct err *e)
{
	const struct syscalls_cell *all = v->s->cells.data;

	v->cells = reallocarray(NULL, v->s->cells.count + 1, sizeof *v->cells);
	if (!v->cells)
		return err_nomem(e);
	for (size_t i = 0; i < v->s->cells.count; i++)
		if (all[i].error || v->s->by != SYSCALLS_BY_ERRNO)
			v->cells[v->cell_count++] = &all[i];
	qsort_r(v->cells, v->cell_count, sizeof *v->cells, compare_cells, v);
	return 0;
}

static int add_cell(struct view *v, size_t at, struct err *e)
{
	const struct syscalls_cell *c = v->cells[at], *before = at ? v->cells[at - 1] : NULL;
	struct row *r;

	if (!before || group_of(v, c) != group_of(v, before) || call_of(v, c) != call_of(v, before))
		v->rows[v->row_count++] = (struct row){ .subject = c->subject,
							.call = (uint32_t)call_of(v, c),
							.error = c->error,
							.first = at };
	r = &v->rows[v->row_count - 1];
	r->cell_count++;
	r->count += c->count;
	r->errors += c->error ? c->count : 0;
	r->misses += c->error == MISSING ? c->count : 0;
	v->count += c->count;
	v->errors += c->error ? c->count : 0;
	v->total_ns += c->latency.total_ns;
	return latency_merge(&r->latency, &c->latency) < 0 ? err_nomem(e) : 0;
}

static int make_rows(struct view *v, struct err *e)
{
	int rc = sort_cells(v, e);

	if (rc < 0)
		return rc;
	v->rows = calloc(v->cell_count + 1, sizeof *v->rows);
	if (!v->rows)
		return err_nomem(e);
	for (size_t i = 0; rc == 0 && i < v->cell_count; i++)
		rc = add_cell(v, i, e);
	qsort_r(v->rows, v->row_count, sizeof *v->rows, compare_rows, v);
	return rc;
}

/* "ENOENT 26, EACCES 1", or the calls of a path, most first. */
static void put_outcomes(struct emit *out, const struct view *v, const struct row *r, bool of_calls)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	char number[24];

	for (size_t i = r->first; i < r->first + r->cell_count; i++) {
		const struct syscalls_cell *c = v->cells[i];

		if (of_calls) {
			buf_printf(&text, "%s%s", text.len ? ", " : "",
				   syscalls_text(v->s, c->call));
			if (c->error)
				buf_printf(&text, " %s", syscalls_error_name(c->error, number));
			buf_printf(&text, " %llu", (unsigned long long)c->count);
		} else if (c->error) {
			buf_printf(&text, "%s%s %llu", text.len ? ", " : "",
				   syscalls_error_name(c->error, number),
				   (unsigned long long)c->count);
		}
	}
	emit_optional(out, of_calls ? "by" : "errnos", text.data ? text.data : "");
}

/* Whose, or for what. */
static void put_group(struct emit *out, const struct view *v, const struct row *r)
{
	const struct syscalls_subject *s = syscalls_subject(v->s, r->subject);
	const char *name = subject_name(v, r);
	char number[24];

	switch (v->s->by) {
	case SYSCALLS_BY_THREAD:
		emit_int(out, "tid", s->tid);
		emit_int(out, "pid", s->pid);
		emit_name(out, "comm", "", name, "");
		break;
	case SYSCALLS_BY_PROCESS:
		emit_int(out, "pid", s->pid);
		emit_name(out, "comm", "", name, "");
		break;
	case SYSCALLS_BY_FD:
		emit_int(out, "pid", s->pid);
		emit_int(out, "fd", s->fd);
		break;
	case SYSCALLS_BY_ERRNO:
		emit_text(out, "errno", syscalls_error_name(r->error, number));
		break;
	case SYSCALLS_BY_FILE:
	case SYSCALLS_BY_CALL:
	case SYSCALLS_BY_PATH:
	case SYSCALLS_BYS:
		break;
	}
}

static void put_ns(struct emit *out, const char *key, const struct row *r, int64_t ns)
{
	if (r->latency.count)
		emit_value(out, key, ns, "nanoseconds");
	else
		emit_none(out, key);
}

static void put_latency(struct emit *out, const struct view *v, const struct row *r)
{
	const struct latency *l = &r->latency;
	int64_t wall = v->s->by == SYSCALLS_BY_THREAD || v->s->by == SYSCALLS_BY_PROCESS
			       ? syscalls_subject(v->s, r->subject)->wall_ns
			       : v->s->wall_ns;

	put_ns(out, "total_ns", r, l->total_ns);
	emit_percent(out, "time_percent", l->total_ns, v->total_ns);
	emit_percent(out, "wall_percent", l->total_ns, wall);
	put_ns(out, "min_ns", r, l->min_ns);
	put_ns(out, "mean_ns", r, latency_mean(l));
	put_ns(out, "p50_ns", r, latency_quantile(l, 0.5));
	put_ns(out, "p99_ns", r, latency_quantile(l, 0.99));
	put_ns(out, "max_ns", r, l->max_ns);
}

static void put_row(struct emit *out, const struct view *v, const struct row *r)
{
	put_group(out, v, r);
	emit_name(out, "call", "", syscalls_text(v->s, r->call), "");
	emit_int(out, "calls", (int64_t)r->count);
	emit_int(out, "errors", (int64_t)r->errors);
	put_latency(out, v, r);
	if (v->s->by != SYSCALLS_BY_ERRNO)
		put_outcomes(out, v, r, false);
	if (v->s->by == SYSCALLS_BY_FILE)
		emit_name(out, "file", "", subject_name(v, r), "");
}

static void put_path(struct emit *out, const struct view *v, const struct row *r)
{
	emit_int(out, "calls", (int64_t)r->count);
	emit_int(out, "missing", (int64_t)r->misses);
	emit_int(out, "other_errors", (int64_t)(r->errors - r->misses));
	put_ns(out, "total_ns", r, r->latency.total_ns);
	put_outcomes(out, v, r, true);
	emit_name(out, "path", "", subject_name(v, r), "");
}

static void put_bar(struct emit *out, uint64_t part, uint64_t most)
{
	char bar[BAR_WIDTH + 1];
	size_t len = most ? (size_t)((part * BAR_WIDTH + most - 1) / most) : 0;

	memset(bar, '#', len);
	bar[len] = '\0';
	emit_text(out, "bar", bar);
}

static void put_octave(struct emit *out, const struct view *v, const struct row *r, unsigned bits,
		       uint64_t most)
{
	int64_t to = INT64_C(2) << bits;

	put_group(out, v, r);
	emit_name(out, "call", "", syscalls_text(v->s, r->call), "");
	emit_value(out, "from_ns", bits < LATENCY_LOW_BITS ? 0 : to / 2, "nanoseconds");
	emit_value(out, "below_ns", to, "nanoseconds");
	emit_int(out, "calls", (int64_t)latency_octave(&r->latency, bits));
	if (out->opts.format == EMIT_TABLE)
		put_bar(out, latency_octave(&r->latency, bits), most);
	if (v->s->by == SYSCALLS_BY_FILE)
		emit_name(out, "file", "", subject_name(v, r), "");
}

/* From the least to the most that took place, with the empty ones between. */
static void put_histogram(struct emit *out, const struct view *v, const struct row *r,
			  bool is_first)
{
	unsigned low = LATENCY_HIGH_BITS, high = 0;
	uint64_t most = 0;

	for (unsigned bits = LATENCY_LOW_BITS - 1; bits < LATENCY_HIGH_BITS; bits++) {
		uint64_t count = latency_octave(&r->latency, bits);

		if (!count)
			continue;
		low = bits < low ? bits : low;
		high = bits;
		most = count > most ? count : most;
	}
	if (low == LATENCY_HIGH_BITS)
		return;
	if (!is_first)
		emit_gap(out);
	for (unsigned bits = low; bits <= high; bits++) {
		emit_row(out);
		put_octave(out, v, r, bits, most);
	}
}

static void put_head(struct emit *out, const struct view *v)
{
	emit_head_str(out, "target", v->opts->target);
	emit_head_str(out, "method", v->opts->method);
	emit_head_value(out, "duration_ns", v->s->duration_ns, "nanoseconds");
	emit_head_int(out, "threads", (int64_t)v->s->threads);
	emit_head_int(out, "calls", (int64_t)v->count);
	emit_head_int(out, "errors", (int64_t)v->errors);
	emit_head_value(out, "total_ns", v->total_ns, "nanoseconds");
	if (out->opts.format != EMIT_TABLE || v->s->lost)
		emit_head_int(out, "lost", (int64_t)v->s->lost);
}

static void put_rows(struct emit *out, const struct view *v)
{
	static const struct row nothing = { 0 };
	size_t limit = v->opts->limit ? v->opts->limit : SIZE_MAX;
	bool is_path = v->s->by == SYSCALLS_BY_PATH;

	emit_columns(out);
	if (v->opts->is_histogram)
		put_octave(out, v, &nothing, LATENCY_LOW_BITS, 0);
	else if (is_path)
		put_path(out, v, &nothing);
	else
		put_row(out, v, &nothing);
	for (size_t i = 0; i < v->row_count && i < limit; i++) {
		if (v->opts->is_histogram) {
			put_histogram(out, v, &v->rows[i], i == 0);
			continue;
		}
		emit_row(out);
		if (is_path)
			put_path(out, v, &v->rows[i]);
		else
			put_row(out, v, &v->rows[i]);
	}
	if (v->row_count > limit)
		emit_note(out, "%zu more %s; -n 0 shows all", v->row_count - limit,
			  v->opts->is_histogram ? "histograms" : "rows");
}

int syscalls_put_table(const struct emit_opts *o, struct syscalls *s,
		       const struct syscalls_table *t, struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };
	CLEANUP(view_fini) struct view v = { .s = s, .opts = t };

	if (make_rows(&v, e) < 0)
		return e->code;
	emit_begin(&out, o, to);
	put_head(&out, &v);
	put_rows(&out, &v);
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}
