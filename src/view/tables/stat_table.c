/* SPDX-License-Identifier: MIT */
#include "view/tables/stat_table.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_PROCESSES 25 /* of tables */

/* Absent, or 0 in every run. */
static bool is_nothing(const struct stat_summary *s)
{
	return !s->has_value || (!s->least && !s->most);
}

static void put_value(struct emit *out, const char *key, bool has_value, int64_t value,
		      const char *unit)
{
	if (has_value)
		emit_value(out, key, value, unit);
	else
		emit_none(out, key);
}

/* What is behind the value: how sure it is, and what the other command has. */
static void put_comparison(struct emit *out, const struct stat_metric *f,
			   const struct stat_summary *a, const struct stat_summary *b,
			   bool has_runs)
{
	if (has_runs) {
		put_value(out, "least", a->has_value, a->least, f->unit);
		put_value(out, "most", a->has_value, a->most, f->unit);
	}
	if (!b)
		return;
	put_value(out, "vs", b->has_value, b->median, f->unit);
	if (has_runs) {
		put_value(out, "vs_least", b->has_value, b->least, f->unit);
		put_value(out, "vs_most", b->has_value, b->most, f->unit);
	}
	if (a->has_value && b->has_value && a->median > 0)
		emit_real(out, "ratio", (double)b->median / (double)a->median, 2, "x");
	else
		emit_none(out, "ratio");
}

static void put_metric(struct emit *out, const struct stat_metric *f, const struct stat_summary *a,
		       const struct stat_summary *b, bool has_runs)
{
	emit_name(out, "figure", "", f->name, "");
	put_value(out, "value", a->has_value, a->median, f->unit);
	emit_hide(out);
	emit_text(out, "unit", f->unit);
	put_comparison(out, f, a, b, has_runs);
	emit_hide(out);
	emit_text(out, "group", f->group);
	emit_optional(out, "detail", f->detail);
}

static int put_metrics(struct emit *out, const struct stat_series *s, const struct stat_series *vs,
		       struct err *e)
{
	const char *group = NULL;
	bool is_short = out->opts.format == EMIT_TABLE && !out->opts.is_verbose;

	emit_head_str(out, "command", s->command);
	if (vs)
		emit_head_str(out, "vs", vs->command);
	if (s->run_count > 1)
		emit_head_int(out, "runs", (int64_t)s->run_count);
	emit_columns(out);
	for (size_t i = 0; i < s->metric_count; i++) {
		const struct stat_metric *f = &s->last[i];
		struct stat_summary a, b;

		if (stat_summarize(s, i, &a, e) < 0 || (vs && stat_summarize(vs, i, &b, e) < 0))
			return e->code;
		if (is_short && (f->is_idle || (is_nothing(&a) && (!vs || is_nothing(&b)))))
			continue;
		if (i == 0)
			put_metric(out, f, &a, vs ? &b : NULL, s->run_count > 1);
		if (group && strcmp(group, f->group) != 0)
			emit_gap(out);
		group = f->group;
		emit_row(out);
		put_metric(out, f, &a, vs ? &b : NULL, s->run_count > 1);
	}
	return 0;
}

struct stat_program {
	const char *name; /* borrowed from its processes */
	int64_t count;    /* processes */
	struct stat_usage usage;
};

static int compare_program_names(const void *a, const void *b)
{
	const struct stat_program *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_program_cpu(const void *a, const void *b)
{
	const struct stat_program *x = a, *y = b;
	int rc = stat_usage_compare(&x->usage, &y->usage);

	return rc ? rc : strcmp(x->name, y->name);
}

static void add_usage(struct stat_usage *to, const struct stat_usage *one)
{
	to->wall_ns += one->wall_ns;
	to->user_ns += one->user_ns;
	to->system_ns += one->system_ns;
	to->minor_faults += one->minor_faults;
	to->major_faults += one->major_faults;
	if (one->peak_rss_bytes > to->peak_rss_bytes)
		to->peak_rss_bytes = one->peak_rss_bytes;
	if (one->run_wait_ns >= 0)
		to->run_wait_ns = (to->run_wait_ns < 0 ? 0 : to->run_wait_ns) + one->run_wait_ns;
}

/* Sums the processes by the names of their programs; those that used the most CPU time first. *ret:
 * [*ret_count], the caller's. */
static int sum_programs(const struct stat_process *all, size_t count, struct stat_program **ret,
			size_t *ret_count, struct err *e)
{
	struct stat_program *to = reallocarray(NULL, count + 1, sizeof *to);
	size_t n = 0;

	if (!to)
		return err_nomem(e);
	for (size_t i = 0; i < count; i++)
		to[i] = (struct stat_program){ all[i].name, 1, all[i].usage };
	qsort(to, count, sizeof *to, compare_program_names);
	for (size_t i = 0; i < count; i++) {
		if (n && strcmp(to[n - 1].name, to[i].name) == 0) {
			to[n - 1].count++;
			add_usage(&to[n - 1].usage, &to[i].usage);
		} else {
			to[n++] = to[i];
		}
	}
	qsort(to, n, sizeof *to, compare_program_cpu);
	*ret = to;
	*ret_count = n;
	return 0;
}

static void put_usage(struct emit *out, const struct stat_usage *u)
{
	emit_value(out, "wall_ns", u->wall_ns, "nanoseconds");
	emit_value(out, "user_ns", u->user_ns, "nanoseconds");
	emit_value(out, "system_ns", u->system_ns, "nanoseconds");
	put_value(out, "run_wait_ns", u->run_wait_ns >= 0, u->run_wait_ns, "nanoseconds");
	put_value(out, "peak_rss_bytes", u->peak_rss_bytes > 0, u->peak_rss_bytes, "bytes");
	emit_int(out, "minor_faults", u->minor_faults);
	emit_int(out, "major_faults", u->major_faults);
}

static void put_process(struct emit *out, const struct stat_process *p)
{
	emit_int(out, "pid", p->pid);
	emit_int(out, "parent", p->parent);
	put_usage(out, &p->usage);
	emit_name(out, "command", "", p->command, "");
}

static void put_processes(struct emit *out, const struct stat_process *all, size_t count,
			  size_t left_out)
{
	const struct stat_process nothing = { .command = "" };

	if (left_out)
		emit_note(out, "%zu of %zu processes, by CPU time; -v shows all", count,
			  count + left_out);
	emit_columns(out);
	put_process(out, &nothing);
	for (size_t i = 0; i < count; i++) {
		emit_row(out);
		put_process(out, &all[i]);
	}
}

static void put_program(struct emit *out, const struct stat_program *p)
{
	emit_name(out, "program", "", p->name, "");
	emit_int(out, "processes", p->count);
	put_usage(out, &p->usage);
}

static void put_programs(struct emit *out, const struct stat_program *all, size_t count)
{
	const struct stat_program nothing = { .name = "" };

	emit_columns(out);
	put_program(out, &nothing);
	for (size_t i = 0; i < count; i++) {
		emit_row(out);
		put_program(out, &all[i]);
	}
}

/* Before a part: what separates it from the one before. */
static void put_key(struct buf *to, const struct emit_opts *o, const char *key, bool is_first)
{
	if (o->format == EMIT_JSON)
		buf_printf(to, "%s\"%s\":\n", is_first ? "{" : ",\n", key);
	else if (o->format == EMIT_CSV && !is_first)
		buf_put_str(to, "\n");
}

static int put_series(const struct emit_opts *o, const struct stat_series *s,
		      const struct stat_series *vs, struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };

	put_key(to, o, "figures", true);
	emit_begin(&out, o, to);
	if (put_metrics(&out, s, vs, e) < 0)
		return e->code;
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

static int put_sums(const struct emit_opts *o, const struct stat_process *all, size_t count,
		    struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };
	struct stat_program *programs = NULL;
	size_t program_count = 0;
	int rc = sum_programs(all, count, &programs, &program_count, e);

	if (rc < 0)
		return rc;
	if (o->format != EMIT_TABLE || program_count < count) {
		put_key(to, o, "programs", false);
		emit_begin(&out, o, to);
		put_programs(&out, programs, program_count);
		rc = emit_end(&out) < 0 ? err_nomem(e) : 0;
	}
	free(programs);
	return rc;
}

static int put_each(const struct emit_opts *o, struct stat_process *all, size_t count,
		    struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };
	size_t shown = count;

	if (o->format == EMIT_TABLE && !o->is_verbose && count > TABLE_PROCESSES) {
		qsort(all, count, sizeof *all, stat_process_compare);
		shown = TABLE_PROCESSES;
	}
	put_key(to, o, "processes", false);
	emit_begin(&out, o, to);
	put_processes(&out, all, shown, count - shown);
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

int stat_table(const struct emit_opts *o, const struct stat_series *s, const struct stat_series *vs,
	       struct stat_process *processes, size_t count, struct buf *to, struct err *e)
{
	int rc = put_series(o, s, vs, to, e);

	if (rc == 0)
		rc = put_sums(o, processes, count, to, e);
	if (rc == 0)
		rc = put_each(o, processes, count, to, e);
	if (rc == 0 && o->format == EMIT_JSON)
		buf_put_str(to, "}\n");
	return rc == 0 && buf_error(to) < 0 ? err_nomem(e) : rc;
}
