/* SPDX-License-Identifier: MIT */
#include "cli/stat_figures.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

struct list {
	struct stat_figure *all;
	size_t count;
	const char *group;
};

static struct stat_figure *add(struct list *l, const char *name, const char *unit, bool has_value,
			       int64_t value)
{
	struct stat_figure *f = &l->all[l->count++];

	assert(l->count <= STAT_MAX_FIGURES);
	*f = (struct stat_figure){ .group = l->group,
				   .name = name,
				   .unit = unit,
				   .has_value = has_value,
				   .value = has_value ? value : 0 };
	return f;
}

static void PRINTF(2, 3) tell(struct stat_figure *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->detail, sizeof f->detail, fmt, args);
	va_end(args);
}

static int64_t ns_of(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * 1000;
}

/* CPU time of the job that no process has which was seen. */
static int64_t unseen_ns(const struct job *j)
{
	const struct process *all = j->tree.processes.data;
	int64_t ns = ns_of(j->usage.ru_utime) + ns_of(j->usage.ru_stime) +
		     ns_of(j->orphans.ru_utime) + ns_of(j->orphans.ru_stime);

	for (size_t i = 0; i < j->tree.processes.count; i++)
		if (!all[i].is_alive) /* else it is in neither */
			ns -= all[i].user_ns + all[i].system_ns;
	return ns > 0 ? ns : 0;
}

static void add_time(struct list *l, const struct job *j)
{
	int64_t user = ns_of(j->usage.ru_utime), system = ns_of(j->usage.ru_stime);

	l->group = "time";
	tell(add(l, "elapsed", "nanoseconds", true, j->elapsed_ns),
	     "time -v: Elapsed (wall clock)");
	tell(add(l, "user", "nanoseconds", true, user), "time -v: User time");
	tell(add(l, "system", "nanoseconds", true, system), "time -v: System time");
	tell(add(l, "CPU", "percent", j->elapsed_ns > 0,
		 (int64_t)(100.0 * (double)(user + system) / (double)(j->elapsed_ns + 1))),
	     "time -v: Percent of CPU this job got");
	tell(add(l, "unseen CPU time", "nanoseconds", true, unseen_ns(j)),
	     "of processes that lived too briefly to be seen, or since the last look");
	tell(add(l, "run-queue wait", "nanoseconds", j->run_wait_ns >= 0, j->run_wait_ns),
	     "threads were ready, but had no CPU: all that were seen");
	tell(add(l, "exit status", "count", true, j->status), "time -v: Exit status");
}

static void add_memory(struct list *l, const struct job *j)
{
	const struct rusage *u = &j->usage;

	l->group = "memory";
	tell(add(l, "maximum RSS", "kbytes", true, u->ru_maxrss),
	     "time -v: Maximum resident set size; %s",
	     u->ru_maxrss <= j->floor_kbytes ? "at most: the child had it before the command"
					     : "of one process");
	tell(add(l, "peak RSS of the tree", "bytes", j->tree.looks > 0, j->tree.peak_rss_bytes),
	     "summed in %lld looks, one in %.1f ms; shared pages count in each",
	     (long long)j->tree.looks, (double)j->look_ns / 1e6);
	tell(add(l, "peak of processes", "count", j->tree.looks > 0, j->tree.peak_count),
	     "at the same time, in these looks");
	tell(add(l, "major faults", "count", true, u->ru_majflt),
	     "time -v: Major (requiring I/O) page faults");
	tell(add(l, "minor faults", "count", true, u->ru_minflt),
	     "time -v: Minor (reclaiming a frame) page faults");
	tell(add(l, "page size", "bytes", true, sysconf(_SC_PAGESIZE)), "time -v: Page size");
}

static void add_switches(struct list *l, const struct job *j)
{
	l->group = "switches";
	tell(add(l, "voluntary switches", "count", true, j->usage.ru_nvcsw),
	     "time -v: Voluntary context switches; it waited");
	tell(add(l, "involuntary switches", "count", true, j->usage.ru_nivcsw),
	     "time -v: Involuntary context switches; it was preempted");
}

static void add_io(struct list *l, const struct job *j)
{
	bool has = j->io.has_value;

	l->group = "I/O";
	tell(add(l, "file system inputs", "count", true, j->usage.ru_inblock),
	     "time -v: File system inputs; blocks of 512 bytes");
	tell(add(l, "file system outputs", "count", true, j->usage.ru_oublock),
	     "time -v: File system outputs; blocks of 512 bytes");
	tell(add(l, "rchar", "bytes", has, j->io.read_chars),
	     "by read(2) and the like, also from caches and pipes");
	tell(add(l, "wchar", "bytes", has, j->io.write_chars), "by write(2) and the like");
	tell(add(l, "read calls", "count", has, j->io.read_calls), "syscr of /proc/PID/io");
	tell(add(l, "write calls", "count", has, j->io.write_calls), "syscw of /proc/PID/io");
	tell(add(l, "read_bytes", "bytes", has, j->io.read_bytes), "from storage");
	tell(add(l, "write_bytes", "bytes", has, j->io.write_bytes), "made dirty, for storage");
}

static void add_orphans(struct list *l, const struct job *j)
{
	l->group = "not waited for";
	tell(add(l, "orphans", "count", true, j->orphan_count),
	     "ended, but their parents did not wait: not in what is above");
	add(l, "user of orphans", "nanoseconds", true, ns_of(j->orphans.ru_utime));
	add(l, "system of orphans", "nanoseconds", true, ns_of(j->orphans.ru_stime));
	add(l, "maximum RSS of orphans", "kbytes", true, j->orphans.ru_maxrss);
	tell(add(l, "left running", "count", true, j->left_count), "outlived the command");
}

static const struct counter *find(const struct counters *c, const char *name)
{
	for (size_t i = 0; i < COUNTERS; i++)
		if (strcmp(c->all[i].name, name) == 0)
			return &c->all[i];
	return NULL;
}

/* In relation to what it is a part of, and how long it was counted. */
static void tell_counter(struct stat_figure *f, const struct counters *all, const struct counter *c)
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
		tell(f, "%s",
		     c->error == -ENOENT || c->error == -EOPNOTSUPP || c->error == -ENODEV
			     ? "this machine cannot count it"
		     : c->error == -ENODATA ? "had no turn on the counters"
					    : strerror(-c->error));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const struct counter *of = find(all, parts[i].of);

		if (strcmp(parts[i].name, c->name) == 0 && of && !of->error && of->value > 0)
			tell(f, "%.*f %s", parts[i].decimals,
			     parts[i].scale * (double)c->value / (double)of->value, parts[i].words);
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

static void add_counters(struct list *l, const struct job *j)
{
	l->group = "counters";
	for (size_t i = 0; i < COUNTERS; i++) {
		const struct counter *c = &j->counters.all[i];

		tell_counter(add(l, c->name, c->unit, !c->error, c->value), &j->counters, c);
	}
}

static void add_pressure(struct list *l, const struct job *j)
{
	const struct job_pressure *p = &j->pressure;
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
		tell(add(l, rows[i].name, "nanoseconds", p->has_value, rows[i].value),
		     !p->has_value     ? "this kernel has no /proc/pressure"
		     : i % 2 == 0 && i ? "all tasks of the machine stalled"
				       : "some task of the machine stalled");
}

static void add_limit(struct list *l, const char *name, const char *unit,
		      const struct cgroup_value *v, const char *words)
{
	tell(add(l, name, unit, v->has_value && !v->is_unlimited, v->value), "%s",
	     !v->has_value     ? "not told by this control group"
	     : v->is_unlimited ? "unlimited"
			       : words);
}

static void add_cgroup(struct list *l, const struct job *j)
{
	const struct cgroup_usage *c = &j->cgroup;

	l->group = "control group";
	add_limit(l, "cgroup memory peak", "bytes", &c->memory_peak,
		  "since the group was made; with caches and kernel memory");
	add_limit(l, "cgroup memory limit", "bytes", &c->memory_limit, "of it or one above");
	add_limit(l, "cgroup CPU quota", "nanoseconds", &c->cpu_quota_ns, "a period");
	add_limit(l, "cgroup CPU period", "nanoseconds", &c->cpu_period_ns, "");
	add_limit(l, "cgroup throttled", "count", &c->throttled_count, "periods of this job");
	add_limit(l, "cgroup throttled time", "nanoseconds", &c->throttled_ns, "of this job");
}

static void add_idle(struct list *l, const struct job *j)
{
	const struct rusage *u = &j->usage;
	const struct {
		const char *name, *unit, *label;
		int64_t value;
	} rows[] = {
		{ "shared text", "kbytes", "Average shared text size", u->ru_ixrss },
		{ "unshared data", "kbytes", "Average unshared data size", u->ru_idrss },
		{ "stack", "kbytes", "Average stack size", u->ru_isrss },
		{ "text, data and stack", "kbytes", "Average total size",
		  u->ru_ixrss + u->ru_idrss + u->ru_isrss },
		{ "average RSS", "kbytes", "Average resident set size", u->ru_idrss },
		{ "swaps", "count", "Swaps", u->ru_nswap },
		{ "messages sent", "count", "Socket messages sent", u->ru_msgsnd },
		{ "messages received", "count", "Socket messages received", u->ru_msgrcv },
		{ "signals", "count", "Signals delivered", u->ru_nsignals },
	};

	l->group = "not kept by Linux";
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stat_figure *f = add(l, rows[i].name, rows[i].unit, true, rows[i].value);

		f->is_idle = true;
		tell(f, "time -v: %s; always 0 on Linux", rows[i].label);
	}
}

size_t stat_figures(const struct job *j, struct stat_figure ret[STAT_MAX_FIGURES])
{
	struct list l = { .all = ret };

	add_time(&l, j);
	add_memory(&l, j);
	add_switches(&l, j);
	add_io(&l, j);
	add_orphans(&l, j);
	add_counters(&l, j);
	add_pressure(&l, j);
	add_cgroup(&l, j);
	add_idle(&l, j);
	return l.count;
}
