/* SPDX-License-Identifier: MIT */
#include "view/tables/stat_table.h"

#include <stdlib.h>
#include <string.h>

#include "view/tables/stat_times.h"

#define TABLE_ROWS 5 /* programs or processes in tables that are not verbose */

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

static bool is_short(const struct emit *out)
{
	return out->opts.format == EMIT_TABLE && !out->opts.is_verbose;
}

/* Without the name that it has in time -v. */
static const char *short_detail(const char *detail)
{
	const char *rest;

	if (strncmp(detail, "time -v: ", strlen("time -v: ")) != 0)
		return detail;
	rest = strstr(detail, "; ");
	return rest ? rest + 2 : "";
}

struct other_keys {
	const char *value, *least, *most, *ratio;
};

static const struct other_keys keys_of_other[STAT_MAX_COMMANDS - 1] = {
	{ "vs", "vs_least", "vs_most", "ratio" },
	{ "vs_2", "vs_2_least", "vs_2_most", "ratio_2" },
	{ "vs_3", "vs_3_least", "vs_3_most", "ratio_3" },
	{ "vs_4", "vs_4_least", "vs_4_most", "ratio_4" },
};

/* A metric of all commands. */
struct figure {
	const struct stat_metric *of_last_run; /* of the command */
	struct stat_summary commands[STAT_MAX_COMMANDS];
	size_t count;
	bool has_runs; /* several of each */
};

/* In short tables the spread of several commands is where their times are compared. */
static void put_range(struct emit *out, const struct figure *f, const char *least_key,
		      const char *most_key, const struct stat_summary *s)
{
	if (!f->has_runs || (f->count > 1 && is_short(out)))
		return;
	put_value(out, least_key, s->has_value, s->least, f->of_last_run->unit);
	put_value(out, most_key, s->has_value, s->most, f->of_last_run->unit);
}

static void put_other(struct emit *out, const struct figure *f, size_t index)
{
	const struct other_keys *keys = &keys_of_other[index - 1];
	const struct stat_summary *a = &f->commands[0], *b = &f->commands[index];

	put_value(out, keys->value, b->has_value, b->median, f->of_last_run->unit);
	put_range(out, f, keys->least, keys->most, b);
	if (a->has_value && b->has_value && a->median > 0)
		emit_real(out, keys->ratio, (double)b->median / (double)a->median, 2, "x");
	else
		emit_none(out, keys->ratio);
}

static void put_metric(struct emit *out, const struct figure *f)
{
	const struct stat_metric *m = f->of_last_run;

	emit_name(out, "figure", "", m->name, "");
	put_value(out, "value", f->commands[0].has_value, f->commands[0].median, m->unit);
	emit_hide(out);
	emit_text(out, "unit", m->unit);
	put_range(out, f, "least", "most", &f->commands[0]);
	for (size_t i = 1; i < f->count; i++)
		put_other(out, f, i);
	emit_hide(out);
	emit_text(out, "group", m->group);
	if (is_short(out))
		emit_text(out, "detail", short_detail(m->detail));
	else
		emit_optional(out, "detail", m->detail);
}

static int summarize(const struct stat_series *all, size_t count, size_t metric, struct figure *ret,
		     struct err *e)
{
	*ret = (struct figure){ .of_last_run = &all->last[metric],
				.count = count,
				.has_runs = all->run_count > 1 };
	for (size_t i = 0; i < count; i++)
		if (stat_summarize(&all[i], metric, &ret->commands[i], e) < 0)
			return e->code;
	return 0;
}

/* In short tables. */
static bool is_left_out(const struct figure *f)
{
	static const char *const of_times_table[] = { "elapsed", "user", "system" };

	for (size_t i = 0; i < ARRAY_LEN(of_times_table) && (f->has_runs || f->count > 1); i++)
		if (strcmp(f->of_last_run->name, of_times_table[i]) == 0)
			return true;
	for (size_t i = 0; i < f->count; i++)
		if (!is_nothing(&f->commands[i]))
			return f->of_last_run->is_verbose;
	return true;
}

static int put_metrics(struct emit *out, const struct stat_series *all, size_t count, struct err *e)
{
	const char *group = NULL;
	struct figure f;

	if (all->run_count > 1 || count > 1)
		emit_hide(out);
	emit_head_str(out, "command", all->command);
	if (all->verdict)
		emit_note(out, "%s", all->verdict);
	emit_columns(out);
	for (size_t i = 0; i < all->metric_count; i++) {
		if (summarize(all, count, i, &f, e) < 0)
			return e->code;
		if (i == 0)
			put_metric(out, &f);
		if (is_short(out) && is_left_out(&f))
			continue;
		if (group && strcmp(group, f.of_last_run->group) != 0 && !is_short(out))
			emit_gap(out);
		group = f.of_last_run->group;
		emit_row(out);
		put_metric(out, &f);
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
	size_t shown = is_short(out) && count > TABLE_ROWS ? TABLE_ROWS : count;

	if (shown < count)
		emit_note(out, "%zu of %zu programs, by CPU time; -v shows all", shown, count);
	emit_columns(out);
	put_program(out, &nothing);
	for (size_t i = 0; i < shown; i++) {
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

static int put_series(const struct emit_opts *o, const struct stat_series *all, size_t count,
		      struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };
	bool has_times = count > 1 || all->run_count > 1;

	if (has_times) {
		put_key(to, o, "commands", true);
		if (stat_times_table(o, all, count, to, e) < 0)
			return e->code;
	}
	put_key(to, o, "figures", !has_times);
	emit_begin(&out, o, to);
	if (put_metrics(&out, all, count, e) < 0)
		return e->code;
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

static int put_sums(const struct emit_opts *o, const struct stat_program *all, size_t count,
		    struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };

	put_key(to, o, "programs", false);
	emit_begin(&out, o, to);
	put_programs(&out, all, count);
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

static int put_each(const struct emit_opts *o, struct stat_process *all, size_t count,
		    struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };
	size_t shown = count;

	put_key(to, o, "processes", false);
	emit_begin(&out, o, to);
	if (is_short(&out) && count > TABLE_ROWS) {
		qsort(all, count, sizeof *all, stat_process_compare);
		shown = TABLE_ROWS;
	}
	put_processes(&out, all, shown, count - shown);
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

/* A short table has programs, or processes when each has a program of its own, and of one process
 * nothing: the metrics are its own. */
static int put_users(const struct emit_opts *o, struct stat_process *all, size_t count,
		     struct buf *to, struct err *e)
{
	bool is_full = o->format != EMIT_TABLE;
	struct stat_program *programs = NULL;
	size_t program_count = 0;
	int rc = sum_programs(all, count, &programs, &program_count, e);

	if (rc == 0 && (is_full || program_count < count))
		rc = put_sums(o, programs, program_count, to, e);
	if (rc == 0 && (is_full || o->is_verbose || (program_count == count && count > 1)))
		rc = put_each(o, all, count, to, e);
	free(programs);
	return rc;
}

int stat_table(const struct emit_opts *o, const struct stat_series *all, size_t count,
	       struct stat_process *processes, size_t process_count, struct buf *to, struct err *e)
{
	int rc = put_series(o, all, count, to, e);

	if (rc == 0)
		rc = put_users(o, processes, process_count, to, e);
	if (rc == 0 && o->format == EMIT_JSON)
		buf_put_str(to, "}\n");
	return rc == 0 && buf_error(to) < 0 ? err_nomem(e) : rc;
}
