/* SPDX-License-Identifier: MIT */
#include "usage/metric_list.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct stat_metric *stat_add(struct stat_list *l, const char *name, const char *unit,
			     bool has_value, int64_t value)
{
	struct stat_metric *f = &l->all[l->count++];

	assert(l->count <= STAT_MAX_METRICS);
	*f = (struct stat_metric){ .group = l->group,
				   .name = name,
				   .unit = unit,
				   .has_value = has_value,
				   .is_verbose = l->is_verbose,
				   .value = has_value ? value : 0 };
	return f;
}

void stat_note(struct stat_metric *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->detail, sizeof f->detail, fmt, args);
	va_end(args);
}

static const struct counter *find(const struct counters *c, const char *name)
{
	for (size_t i = 0; i < COUNTERS; i++)
		if (strcmp(c->all[i].name, name) == 0)
			return &c->all[i];
	return NULL;
}

static bool is_missing(const struct counter *c)
{
	return c->error == -ENOENT || c->error == -EOPNOTSUPP || c->error == -ENODEV;
}

/* In relation to what it is a part of, and how long it was counted. */
static void tell_counter(struct stat_metric *f, const struct counters *all, const struct counter *c)
{
	static const struct {
		const char *name, *of, *words;
		double scale;
		int decimals;
	} parts[] = {
		{ "instructions", "cycles", "a cycle", 1, 2 },
		{ "stalled-cycles-frontend", "cycles", "% of cycles", 100, 1 },
		{ "cache-misses", "cache-references", "% of references", 100, 1 },
		{ "branch-misses", "branches", "% of branches", 100, 1 },
	};
	size_t len;

	if (c->error) {
		stat_note(
			f, "%s",
			is_missing(c)          ? "this machine cannot count it"
			: c->error == -ENODATA ? "had no turn on the counters"
			: c->error == -ESTALE
				? "not known of a program that is setuid or unreadable; needs root"
				: strerror(-c->error));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const struct counter *of = find(all, parts[i].of);

		if (strcmp(parts[i].name, c->name) == 0 && of && !of->error && of->value > 0)
			stat_note(f, "%.*f %s", parts[i].decimals,
				  parts[i].scale * (double)c->value / (double)of->value,
				  parts[i].words);
	}
	len = strlen(f->detail);
	if (c->running_ns < c->enabled_ns)
		snprintf(f->detail + len, sizeof f->detail - len, "%scounted %.0f %% of the time",
			 len ? "; " : "", 100 * (double)c->running_ns / (double)c->enabled_ns);
	len = strlen(f->detail);
	if (c->is_user_only)
		snprintf(f->detail + len, sizeof f->detail - len, "%suser code only",
			 len ? "; " : "");
}

/* Of the processor: from "cycles" on. */
static bool has_hardware(const struct counters *all)
{
	bool has_any = false;

	for (const struct counter *c = find(all, "cycles"); c < all->all + COUNTERS; c++)
		has_any |= !c->error;
	return has_any;
}

void stat_add_counters(struct stat_list *l, const struct counters *all)
{
	const struct counter *cycles = find(all, "cycles");
	bool has_all = has_hardware(all);

	l->group = "counters";
	for (size_t i = 0; i < COUNTERS; i++) {
		const struct counter *c = &all->all[i];
		struct stat_metric *f = stat_add(l, c->name, c->unit, !c->error, c->value);

		tell_counter(f, all, c);
		f->is_verbose = c <= cycles || !has_all;
		if (c == cycles && !has_all)
			stat_note(f, "%s: no cycles, instructions, caches, branches",
				  is_missing(c) ? "this machine has no such counters"
						: strerror(-c->error));
	}
}

void stat_add_pressure(struct stat_list *l, const struct pressure *p)
{
	const struct {
		const char *name;
		int64_t value;
	} rows[] = {
		{ "CPU pressure", p->cpu_some_ns },
		{ "memory pressure", p->memory_some_ns },
		{ "memory pressure, all", p->memory_full_ns },
		{ "I/O pressure", p->io_some_ns },
		{ "I/O pressure, all", p->io_full_ns },
	};

	l->group = "pressure";
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		stat_note(stat_add(l, rows[i].name, "nanoseconds", p->has_value, rows[i].value),
			  !p->has_value     ? "this kernel has no /proc/pressure"
			  : i % 2 == 0 && i ? "all tasks of the machine stalled"
					    : "some task of the machine stalled");
}

static void add_limit(struct stat_list *l, const char *name, const char *unit,
		      const struct cgroup_value *v, const char *words)
{
	stat_note(stat_add(l, name, unit, v->has_value && !v->is_unlimited, v->value), "%s",
		  !v->has_value     ? "not in this control group"
		  : v->is_unlimited ? "unlimited"
				    : words);
}

/* The root group has no pressure files: it has that of the machine. */
static void add_group_pressure(struct stat_list *l, const struct pressure *p)
{
	const struct {
		const char *name, *detail;
		int64_t value;
	} rows[] = {
		{ "cgroup CPU pressure", "some task of the group stalled", p->cpu_some_ns },
		{ "cgroup memory pressure", "some task of the group stalled", p->memory_some_ns },
		{ "cgroup memory pressure, all", "all its tasks stalled", p->memory_full_ns },
		{ "cgroup I/O pressure", "some task of the group stalled", p->io_some_ns },
		{ "cgroup I/O pressure, all", "all its tasks stalled", p->io_full_ns },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stat_metric *f =
			stat_add(l, rows[i].name, "nanoseconds", p->has_value, rows[i].value);

		stat_note(f, "%s", p->has_value ? rows[i].detail : "not in this group");
	}
}

void stat_add_cgroup(struct stat_list *l, const struct cgroup_usage *c)
{
	l->group = "control group";
	l->is_verbose = true;
	add_limit(l, "cgroup memory peak", "bytes", &c->memory_peak,
		  "since the group was made; with caches and kernel memory");
	add_limit(l, "cgroup memory limit", "bytes", &c->memory_limit, "of it or one above");
	l->is_verbose = false;
	add_limit(l, "cgroup limit hits", "count", &c->limit_hits,
		  "memory; in the time of this job");
	add_limit(l, "cgroup OOM kills", "count", &c->oom_kills, "of its processes; in this time");
	l->is_verbose = true;
	add_limit(l, "cgroup CPU quota", "nanoseconds", &c->cpu_quota_ns,
		  "a period; the scarcest of it and those above");
	add_limit(l, "cgroup CPU period", "nanoseconds", &c->cpu_period_ns, "");
	l->is_verbose = false;
	add_limit(l, "cgroup throttled", "count", &c->throttled_count, "periods of this job");
	add_limit(l, "cgroup throttled time", "nanoseconds", &c->throttled_ns, "of this job");
	l->is_verbose = true;
	add_limit(l, "cgroup user", "nanoseconds", &c->user_ns,
		  "CPU time of all in the group, in this time");
	add_limit(l, "cgroup system", "nanoseconds", &c->system_ns,
		  "CPU time of all in the group, in this time");
	add_limit(l, "cgroup major faults", "count", &c->major_faults,
		  "of all in the group, in this time");
	add_group_pressure(l, &c->pressure);
	l->is_verbose = false;
}
