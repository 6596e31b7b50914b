/* SPDX-License-Identifier: MIT */
#include "view/tables/stat_times.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"

#define ELAPSED "elapsed"

/* A command's times, and how they compare with the first one's. */
struct times {
	const struct stat_series *series;
	char name[50]; /* the command, shortened, on one line */
	struct stat_spread elapsed, user, system;
	struct stat_ratio ratio;
};

static void put_short_name(const char *command, char *ret, size_t size)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };

	utf8_put_visible(&visible, command, strlen(command));
	snprintf(ret, size, "%s", buf_error(&visible) < 0 ? "?" : visible.data);
	if (visible.len >= size)
		memcpy(ret + size - sizeof "...", "...", sizeof "...");
}

static int measure(const struct stat_series *all, size_t index, struct times *ret, struct err *e)
{
	struct stat_spread first;

	*ret = (struct times){ .series = &all[index] };
	put_short_name(ret->series->command, ret->name, sizeof ret->name);
	if (stat_spread(&all[0], ELAPSED, &first, e) < 0 ||
	    stat_spread(&all[index], ELAPSED, &ret->elapsed, e) < 0 ||
	    stat_spread(&all[index], "user", &ret->user, e) < 0 ||
	    stat_spread(&all[index], "system", &ret->system, e) < 0)
		return e->code;
	ret->ratio = stat_ratio(&first, &ret->elapsed);
	return 0;
}

static void put_ns(struct emit *out, const char *key, const struct stat_spread *s, double value)
{
	if (s->count)
		emit_value(out, key, llround(value), "nanoseconds");
	else
		emit_none(out, key);
}

static void put_ratio(struct emit *out, const char *key, bool has_value, double value)
{
	if (has_value)
		emit_real(out, key, value, 2, "x");
	else
		emit_none(out, key);
}

static void put_times(struct emit *out, const struct times *t, size_t index, size_t count)
{
	const struct stat_spread *s = &t->elapsed;
	bool has_interval = index && t->ratio.has_interval;

	put_ns(out, "mean_ns", s, s->mean);
	if (s->count > 1)
		put_ns(out, "sigma_ns", s, s->sigma);
	else
		emit_none(out, "sigma_ns");
	put_ns(out, "least_ns", s, (double)s->least);
	put_ns(out, "most_ns", s, (double)s->most);
	put_ns(out, "user_ns", &t->user, t->user.mean);
	put_ns(out, "system_ns", &t->system, t->system.mean);
	if (count > 1) {
		put_ratio(out, "ratio", t->ratio.has_value, t->ratio.value);
		put_ratio(out, "ratio_from", has_interval, t->ratio.least);
		put_ratio(out, "ratio_to", has_interval, t->ratio.most);
	}
	emit_hide(out);
	emit_int(out, "outliers", (int64_t)s->outliers);
	emit_hide(out);
	emit_int(out, "failed", (int64_t)t->series->failed_count);
	emit_name(out, "command", "", t->series->command, "");
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void tell_disturbed(struct emit *out, const struct times *t)
{
	const struct stat_series *s = t->series;

	if (t->elapsed.outliers)
		emit_note(out, "%zu of %zu runs of '%s' %s far from the others: %s",
			  t->elapsed.outliers, s->run_count, t->name,
			  t->elapsed.outliers == 1 ? "is" : "are",
			  t->elapsed.is_first_outlier ? "the first run is; --warmup 1 leaves it out"
						      : "something else may have used the machine");
	if (s->failed_count)
		emit_note(out, "%zu of %zu run%s of '%s' did not end with status 0",
			  s->failed_count, s->run_count, plural(s->run_count), t->name);
}

static void tell_ratio(struct emit *out, const struct times *t, const char *first)
{
	const struct stat_ratio *r = &t->ratio;
	bool is_slower = r->value > 1;

	if (!r->has_interval)
		return;
	if (r->least <= 1 && r->most >= 1)
		emit_note(out,
			  "'%s' and '%s': no difference is shown by %zu runs; more (-r) may "
			  "show one",
			  t->name, first, t->series->run_count);
	else
		emit_note(out, "'%s' is %.2f times as %s as '%s' (95 %% confidence: %.2f to %.2f)",
			  t->name, is_slower ? r->value : 1 / r->value, is_slower ? "slow" : "fast",
			  first, is_slower ? r->least : 1 / r->most,
			  is_slower ? r->most : 1 / r->least);
}

int stat_times_table(const struct emit_opts *o, const struct stat_series *all, size_t count,
		     struct buf *to, struct err *e)
{
	const struct stat_series none = { .command = "" };
	CLEANUP(emit_fini) struct emit out = { 0 };
	struct times t = { .series = &none }, first = t;

	if (measure(all, 0, &first, e) < 0)
		return e->code;
	emit_begin(&out, o, to);
	emit_head_int(&out, "runs", (int64_t)all->run_count);
	emit_columns(&out);
	put_times(&out, &t, 0, count);
	for (size_t i = 0; i < count; i++) {
		if (measure(all, i, &t, e) < 0)
			return e->code;
		emit_row(&out);
		put_times(&out, &t, i, count);
		if (i)
			tell_ratio(&out, &t, first.name);
		tell_disturbed(&out, &t);
	}
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

/* In a table's cell, as code. */
static void put_code(struct buf *to, const char *command)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };
	const char *fence = strchr(command, '`') ? "`` " : "`";

	utf8_put_visible(&visible, command, strlen(command));
	buf_put_str(to, fence);
	for (size_t i = 0; i < visible.len; i++)
		buf_printf(to, "%s%c", visible.data[i] == '|' ? "\\" : "", visible.data[i]);
	buf_put_str(to, fence[1] ? " ``" : "`");
	to->bad |= visible.bad;
}

int stat_times_markdown(const struct stat_series *all, size_t count, struct buf *to, struct err *e)
{
	double unit = (double)NS_PER_S;
	struct times t;

	for (size_t i = 0; i < count; i++) {
		if (measure(all, i, &t, e) < 0)
			return e->code;
		if (i == 0) {
			unit = t.elapsed.mean < unit ? unit / 1000 : unit;
			buf_printf(to, "| Command | Mean [%s] | Min [%s] | Max [%s] | Relative |\n",
				   unit < (double)NS_PER_S ? "ms" : "s",
				   unit < (double)NS_PER_S ? "ms" : "s",
				   unit < (double)NS_PER_S ? "ms" : "s");
			buf_put_str(to, "|:---|---:|---:|---:|---:|\n");
		}
		buf_put_str(to, "| ");
		put_code(to, t.series->command);
		buf_printf(to, " | %.3f ± %.3f | %.3f | %.3f | %.2f |\n", t.elapsed.mean / unit,
			   t.elapsed.sigma / unit, (double)t.elapsed.least / unit,
			   (double)t.elapsed.most / unit, t.ratio.value);
	}
	return buf_error(to) < 0 ? err_nomem(e) : 0;
}
