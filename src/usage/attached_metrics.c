/* SPDX-License-Identifier: MIT */
#include "usage/attached_metrics.h"

#include <stdlib.h>

#include "usage/metric_list.h"

static void add_percent(struct stat_list *l, const struct attached *w, int64_t used)
{
	stat_add(l, "CPU", "percent", w->elapsed_ns > 0,
		 (int64_t)(100.0 * (double)used / (double)(w->elapsed_ns + 1)));
}

static void add_process_time(struct stat_list *l, const struct attached *w)
{
	l->group = "time";
	stat_note(stat_add(l, "elapsed", "nanoseconds", true, w->elapsed_ns), "of the look");
	stat_note(stat_add(l, "user", "nanoseconds", true, w->use.user_ns),
		  "with what they waited for meanwhile; in clock ticks");
	stat_add(l, "system", "nanoseconds", true, w->use.system_ns);
	add_percent(l, w, w->use.user_ns + w->use.system_ns);
	stat_note(stat_add(l, "run-queue wait", "nanoseconds", w->run_wait_ns >= 0, w->run_wait_ns),
		  "threads were ready, but had no CPU: all scanned ones");
	stat_note(stat_add(l, "ended", "count", true, (int64_t)w->ended),
		  "of the processes that were named");
}

static void add_memory(struct stat_list *l, const struct attached *w)
{
	l->group = "memory";
	stat_note(stat_add(l, "maximum RSS", "kbytes", w->peak_rss_bytes > 0,
			   w->peak_rss_bytes / 1024),
		  "of one process, since its program began");
	stat_note(stat_add(l, "peak RSS of the tree", "bytes", true, w->tree.peak_rss_bytes),
		  "sums of %lld scans, one in %.1f ms; shared pages count in each",
		  (long long)w->tree.scans, (double)w->scan_ns / 1e6);
	stat_note(stat_add(l, "peak of processes", "count", true, w->tree.peak_count),
		  "at the same time, in these scans");
	stat_add(l, "major faults", "count", true, w->use.major_faults);
	stat_add(l, "minor faults", "count", true, w->use.minor_faults);
}

static void add_io(struct stat_list *l, const struct attached *w)
{
	const struct proc_io *io = &w->io;

	l->group = "I/O";
	l->is_verbose = true;
	stat_note(stat_add(l, "rchar", "bytes", io->has_value, io->read_chars), "%s",
		  io->has_value ? "by read(2) and the like, also from caches and pipes"
				: "/proc/PID/io cannot be read");
	stat_note(stat_add(l, "wchar", "bytes", io->has_value, io->write_chars),
		  "by write(2) and the like");
	stat_add(l, "read calls", "count", io->has_value, io->read_calls);
	stat_add(l, "write calls", "count", io->has_value, io->write_calls);
	l->is_verbose = false;
	stat_note(stat_add(l, "read_bytes", "bytes", io->has_value, io->read_bytes),
		  "from storage");
	stat_note(stat_add(l, "write_bytes", "bytes", io->has_value, io->write_bytes),
		  "made dirty, for storage");
}

static void add_machine(struct stat_list *l, const struct attached *w)
{
	const struct machine *m = &w->machine;

	l->group = "time";
	stat_note(stat_add(l, "elapsed", "nanoseconds", true, w->elapsed_ns), "of the look");
	stat_note(stat_add(l, "CPUs", "count", m->has_cpu, m->cpu_count), "that run");
	stat_note(stat_add(l, "user", "nanoseconds", m->has_cpu, m->user_ns),
		  "of all CPUs, in clock ticks");
	stat_note(stat_add(l, "system", "nanoseconds", m->has_cpu, m->system_ns),
		  "with interrupts");
	add_percent(l, w, m->user_ns + m->system_ns);
	stat_note(stat_add(l, "waiting for I/O", "nanoseconds", m->has_cpu, m->iowait_ns),
		  "CPUs had nothing else to do");
	stat_note(stat_add(l, "stolen", "nanoseconds", m->has_cpu, m->steal_ns),
		  "by the host of a virtual machine");
	stat_note(stat_add(l, "run-queue wait", "nanoseconds", w->run_wait_ns >= 0, w->run_wait_ns),
		  "threads were ready, but had no CPU: all scanned ones");
	stat_add(l, "switches", "count", m->has_cpu, m->switches);
	stat_note(stat_add(l, "forks", "count", m->has_cpu, m->forks), "processes and threads");
	l->group = "memory";
	for (size_t i = 0; i < MACHINE_EVENTS; i++)
		stat_note(stat_add(l, machine_event_names[i], "count", m->events[i] >= 0,
				   m->events[i]),
			  "of /proc/vmstat");
}

size_t attached_metrics(const struct attached *w, bool is_machine,
			struct stat_metric ret[STAT_MAX_METRICS])
{
	struct stat_list l = { .all = ret };

	if (is_machine) {
		add_machine(&l, w);
	} else {
		add_process_time(&l, w);
		add_memory(&l, w);
		add_io(&l, w);
	}
	stat_add_counters(&l, &w->counters);
	l.is_verbose = !is_machine;
	stat_add_pressure(&l, &w->pressure);
	l.is_verbose = false;
	if (!is_machine)
		stat_add_cgroup(&l, &w->cgroup);
	return l.count;
}

int attached_processes(const struct attached *w, bool is_machine, struct stat_process **ret,
		       size_t *ret_count, struct err *e)
{
	const struct process *from = w->tree.processes.data;
	struct stat_process *to = reallocarray(NULL, w->tree.processes.count + 1, sizeof *to);
	size_t n = 0;

	if (!to)
		return err_nomem(e);
	for (size_t i = 0; i < w->tree.processes.count; i++) {
		const struct process *p = &from[i];

		to[n] = (struct stat_process){
			.pid = p->pid,
			.parent = p->parent,
			.name = p->name,
			.command = p->command,
			.usage.wall_ns = p->wall_ns < w->elapsed_ns ? p->wall_ns : w->elapsed_ns,
			.usage.user_ns = p->own.user_ns - p->own_before.user_ns,
			.usage.system_ns = p->own.system_ns - p->own_before.system_ns,
			.usage.minor_faults = p->own.minor_faults - p->own_before.minor_faults,
			.usage.major_faults = p->own.major_faults - p->own_before.major_faults,
			.usage.peak_rss_bytes = p->peak_rss_bytes,
			.usage.run_wait_ns =
				p->run_wait_ns < 0 ? -1 : p->run_wait_ns - p->run_wait_before_ns,
		};
		n += !is_machine || to[n].usage.user_ns + to[n].usage.system_ns > 0;
	}
	if (is_machine)
		qsort(to, n, sizeof *to, stat_process_compare);
	*ret = to;
	*ret_count = n;
	return 0;
}
