/* SPDX-License-Identifier: MIT */
#include "view/tables/scale_table.h"

#include <string.h>

#include "base/cursor.h"

#define GROWTH_ROWS 12   /* of tables */
#define GROWTH_LEAST 100 /* what has less than this part of the growth is not in tables */

static void put(struct emit *out, const char *key, int64_t value, const char *unit)
{
	if (value == SCALE_NONE)
		emit_none(out, key);
	else
		emit_value(out, key, value, unit);
}

static void put_metric(struct emit *out, const char *key, const struct scale_step *s,
		       enum scale_metric f, const char *unit)
{
	put(out, key, s->metrics[f], unit);
}

static void put_part(struct emit *out, const char *key, int64_t part, int64_t whole)
{
	if (part == SCALE_NONE || whole == SCALE_NONE)
		emit_none(out, key);
	else
		emit_percent(out, key, part, whole);
}

static bool has_failed(const struct scale *s)
{
	for (size_t i = 0; i < s->step_count; i++)
		if (s->steps[i].metrics[SCALE_FAILED] > 0)
			return true;
	return false;
}

static void put_efficiency(struct emit *out, const struct scale *s, const struct scale_step *step)
{
	const int64_t *f = step->metrics;

	emit_int(out, "copies", step->copies);
	put_metric(out, "wall_ns", step, SCALE_WALL, "nanoseconds");
	put_metric(out, "slowest_ns", step, SCALE_WALL_MOST, "nanoseconds");
	if (!has_failed(s))
		emit_hide(out);
	emit_int(out, "failed", f[SCALE_FAILED]);
	emit_real(out, "efficiency", 100 * scale_efficiency(s, step), 1, "%");
	emit_real(out, "core_adjusted", 100 * scale_adjusted_efficiency(s, step), 1, "%");
	emit_real(out, "by_CPU_time", 100 * scale_cpu_efficiency(s, step), 1, "%");
	put_metric(out, "user_ns", step, SCALE_USER, "nanoseconds");
	put_metric(out, "system_ns", step, SCALE_SYSTEM, "nanoseconds");
	put_part(out, "system_percent", f[SCALE_SYSTEM], f[SCALE_USER] + f[SCALE_SYSTEM]);
	put_part(out, "foreign_percent", f[SCALE_FOREIGN], f[SCALE_CAPACITY]);
	put_part(out, "stolen_percent", f[SCALE_STEAL], f[SCALE_CAPACITY]);
}

static void put_change(struct emit *out, const char *key, const struct scale *s,
		       const struct scale_step *step, enum scale_metric f)
{
	int64_t before = s->steps[0].metrics[f], after = step->metrics[f];

	if (before == SCALE_NONE || after == SCALE_NONE)
		emit_none(out, key);
	else
		emit_change(out, key, after - before, "nanoseconds");
}

static void put_lost(struct emit *out, const struct scale *s, const struct scale_step *step)
{
	emit_int(out, "copies", step->copies);
	put_change(out, "longer_ns", s, step, SCALE_WALL);
	put_change(out, "user_ns", s, step, SCALE_USER);
	put_change(out, "system_ns", s, step, SCALE_SYSTEM);
	put_change(out, "waiting_for_a_CPU_ns", s, step, SCALE_RUN_WAIT);
	put_change(out, "blocked_ns", s, step, SCALE_BLOCKED);
}

/* part / (whole / scale) */
static void put_ratio(struct emit *out, const char *key, int64_t part, int64_t whole, double scale)
{
	if (part == SCALE_NONE || whole <= 0)
		emit_none(out, key);
	else
		emit_real(out, key, (double)part * scale / (double)whole, 2, "");
}

static void put_faults(struct emit *out, const struct scale *s, const struct scale_step *step)
{
	const int64_t *f = step->metrics;

	(void)s;
	emit_int(out, "copies", step->copies);
	put_metric(out, "minor_faults", step, SCALE_MINOR, "count");
	put_metric(out, "least", step, SCALE_MINOR_LEAST, "count");
	put_metric(out, "most", step, SCALE_MINOR_MOST, "count");
	put_metric(out, "major_faults", step, SCALE_MAJOR, "count");
	put_ratio(out, "system_us_a_fault", f[SCALE_SYSTEM], f[SCALE_MINOR] + f[SCALE_MAJOR], 1e-3);
	put_ratio(out, "faults_a_MiB", f[SCALE_MINOR], f[SCALE_RSS], 1 << 20);
	put_metric(out, "RSS_bytes", step, SCALE_RSS, "bytes");
	put_metric(out, "most_RSS_bytes", step, SCALE_RSS_MOST, "bytes");
}

static void put_switches(struct emit *out, const struct scale *s, const struct scale_step *step)
{
	emit_int(out, "copies", step->copies);
	put_metric(out, "voluntary_switches", step, SCALE_VOLUNTARY, "count");
	put_metric(out, "involuntary_switches", step, SCALE_INVOLUNTARY, "count");
	put_metric(out, "migrations", step, SCALE_MIGRATIONS, "count");
	put_ratio(out, "instructions_a_cycle", step->metrics[SCALE_INSTRUCTIONS],
		  step->metrics[SCALE_CYCLES], 1);
	for (size_t i = 0; i < SCALE_EVENT_COUNT; i++)
		put(out, s->event_names[i], step->metrics[SCALE_EVENTS + i], "count");
}

static void put_steps(struct emit *out, const struct scale *s,
		      void (*put_row)(struct emit *out, const struct scale *s,
				      const struct scale_step *step))
{
	emit_columns(out);
	put_row(out, s, &s->steps[0]);
	for (size_t i = 0; i < s->step_count; i++) {
		emit_row(out);
		put_row(out, s, &s->steps[i]);
	}
}

static void put_growth_row(struct emit *out, const struct growth *g, const struct growth_row *row,
			   const char *unit)
{
	emit_change(out, "growth", row->after - row->before, unit);
	put_part(out, "of_growth_percent", row->after - row->before, g->after - g->before);
	emit_value(out, "before", row->before, unit);
	put_part(out, "before_percent", row->before, g->before);
	emit_value(out, "after", row->after, unit);
	put_part(out, "after_percent", row->after, g->after);
	emit_text(out, "what", row->what);
	emit_name(out, "function", "", row->function, "");
}

static void put_growth(struct emit *out, const struct growth *g, const char *unit)
{
	static const struct growth nothing;
	const struct growth_row empty = { .function = "", .what = "" };

	g = g ? g : &nothing;
	emit_columns(out);
	put_growth_row(out, g, &empty, unit);
	for (size_t i = 0; i < g->count; i++) {
		int64_t more = g->rows[i].after - g->rows[i].before;
		bool is_told = more > (g->after - g->before) / GROWTH_LEAST && i < GROWTH_ROWS;

		if (out->opts.format == EMIT_TABLE && !is_told)
			break;
		emit_row(out);
		put_growth_row(out, g, &g->rows[i], unit);
	}
}

static void put_cpu_growth(struct emit *out, const struct scale_view *v)
{
	put_growth(out, v->cpu, "nanoseconds");
}

static void put_fault_growth(struct emit *out, const struct scale_view *v)
{
	put_growth(out, v->faults, "count");
}

static void put_head(struct emit *out, const struct scale_view *v)
{
	const struct scale *s = v->scale;

	emit_head_str(out, "command", s->command);
	emit_head_int(out, "rounds", s->rounds);
	emit_head_real(out, "CPUs", (double)s->cpus / 1000);
	if (s->is_pinned)
		emit_head_str(out, "pinned", "a copy a CPU");
	put_steps(out, s, put_efficiency);
}

static void put_losses(struct emit *out, const struct scale_view *v)
{
	put_steps(out, v->scale, put_lost);
}

static void put_memory(struct emit *out, const struct scale_view *v)
{
	put_steps(out, v->scale, put_faults);
}

static void put_other(struct emit *out, const struct scale_view *v)
{
	put_steps(out, v->scale, put_switches);
}

static void put_files(struct emit *out, const struct scale_view *v)
{
	emit_columns(out);
	emit_text(out, "file", "");
	for (size_t i = 0; i < v->file_count; i++) {
		emit_row(out);
		emit_name(out, "file", "", v->files[i], "");
	}
}

static void put_story(struct emit *out, const struct scale_view *v)
{
	CLEANUP(buf_fini) struct buf words = { 0 };
	struct cursor c;
	const char *line;
	size_t len;

	scale_summary(v, &words);
	out->to->bad |= words.bad;
	emit_columns(out);
	emit_text(out, "story", "");
	c = cursor_make(words.data, words.len);
	while (words.data && cursor_line(&c, &line, &len)) {
		words.data[line - words.data + (ptrdiff_t)len] = '\0';
		emit_row(out);
		emit_name(out, "story", "", line, "");
	}
}

static const struct {
	const char *key, *title;
	void (*put)(struct emit *out, const struct scale_view *v);
} parts[] = {
	{ "efficiency", NULL, put_head },
	{ "lost", "where the longer time of a copy goes", put_losses },
	{ "memory", "memory, a copy", put_memory },
	{ "switches", "switches of a copy; events of the machine", put_other },
	{ "cpu_growth", "CPU time of a copy that grew", put_cpu_growth },
	{ "fault_growth", "page faults of a copy that grew", put_fault_growth },
	{ "files", "profiles, and the flame graph of the difference", put_files },
	{ "story", "what this says", put_story },
};

static bool has_rows(const struct scale_view *v, size_t part)
{
	if (parts[part].put == put_losses || parts[part].put == put_story)
		return v->scale->step_count > 1;
	if (parts[part].put == put_cpu_growth)
		return v->cpu && v->cpu->after > v->cpu->before;
	if (parts[part].put == put_fault_growth)
		return v->faults && v->faults->after > v->faults->before;
	return parts[part].put != put_files || v->file_count > 0;
}

static int put_one(const struct emit_opts *o, const struct scale_view *v, size_t part,
		   struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };

	if (o->format == EMIT_JSON)
		buf_printf(to, "%s\"%s\":\n", part ? ",\n" : "", parts[part].key);
	else
		buf_put_str(to, part ? "\n" : "");
	emit_begin(&out, o, to);
	if (parts[part].title)
		emit_note(&out, "%s", parts[part].title);
	parts[part].put(&out, v);
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

int scale_table(const struct emit_opts *o, const struct scale_view *v, struct buf *to,
		struct err *e)
{
	int rc = 0;

	buf_put_str(to, o->format == EMIT_JSON ? "{" : "");
	for (size_t i = 0; i < ARRAY_LEN(parts) && rc == 0; i++)
		if (o->format != EMIT_TABLE || has_rows(v, i))
			rc = put_one(o, v, i, to, e);
	buf_put_str(to, o->format == EMIT_JSON ? "}\n" : "");
	return rc == 0 && buf_error(to) < 0 ? err_nomem(e) : rc;
}
