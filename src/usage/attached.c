/* SPDX-License-Identifier: MIT */
#include "usage/attached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/rows.h"
#include "target/cpulist.h"
#include "target/proc.h"
#include "target/runloop.h"

#define SCAN_MIN_NS INT64_C(20000000) /* between scans of /proc; longer where a scan takes long */
#define SCAN_SHARE 100                /* a scan takes at most this part of the time between two */

struct run {
	const struct attached_opts *opts;
	struct attached *w;
	struct runloop loop;
	struct rows sets; /* struct counters, of each thread or CPU */
	struct exit_events exits;
	int64_t start_ns;
};

static int count_thread(struct run *r, pid_t tid, int cpu, struct err *e)
{
	struct counters *set = rows_add(&r->sets, sizeof *set);

	if (!set)
		return err_nomem(e);
	counters_open_running(set, tid, cpu);
	return 0;
}

static int count_process(struct run *r, pid_t pid, struct err *e)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	uint32_t tid;
	int rc;

	if (proc_open_threads("/proc", (uint32_t)pid, &dir) < 0)
		return err_nomem(e);
	if (!dir)
		return err_set(e, -ESRCH, "process %d does not exist", (int)pid);
	rc = runloop_add_pid(&r->loop, pid, e);
	while (rc == 0 && proc_next(dir, &tid))
		rc = count_thread(r, (pid_t)tid, -1, e);
	return rc;
}

static int count_machine(struct run *r, struct err *e)
{
	CLEANUP(cpulist_fini) struct cpulist cpus = { 0 };
	int rc = cpulist_online(NULL, &cpus, e);

	for (size_t i = 0; rc == 0 && i < cpus.count; i++)
		rc = count_thread(r, -1, (int)cpus.cpus[i], e);
	return rc;
}

/* New threads are counted with their creators; existing children are only scanned. */
static int begin(struct run *r, struct cgroup *group, struct err *e)
{
	const struct attached_opts *o = r->opts;
	char first[16] = "self";
	struct err none;
	int rc = runloop_open(&r->loop, e);

	for (size_t i = 0; rc == 0 && i < o->pid_count; i++)
		rc = count_process(r, o->pids[i], e);
	if (rc == 0 && !o->pid_count)
		rc = count_machine(r, e);
	/* For given processes, usage of ended children is in their parents that waited for them. */
	if (rc == 0 && !o->pid_count && exit_events_open(&r->exits, &none) == 0)
		r->w->tree.exits = &r->exits;
	if (o->pid_count)
		snprintf(first, sizeof first, "%d", (int)o->pids[0]);
	if (rc == 0)
		rc = cgroup_find(first, group, e);
	if (rc == 0)
		rc = proctree_scan(&r->w->tree, e);
	if (rc < 0)
		return rc;
	cgroup_read(group, &r->w->cgroup);
	r->w->pressure = pressure_read();
	machine_read(&r->w->machine);
	r->start_ns = clock_mono_ns();
	r->loop.end_ns = o->duration_ns ? r->start_ns + o->duration_ns : 0;
	return 0;
}

static int64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int observe(struct run *r, struct err *e)
{
	int64_t next = r->start_ns + SCAN_MIN_NS;
	bool is_over = false;
	int rc = 0;

	while (rc == 0 && !is_over) {
		int64_t start;

		is_over = !runloop_step(&r->loop, next - clock_mono_ns());
		if (!is_over && clock_mono_ns() < next)
			continue;
		start = cpu_ns();
		rc = proctree_scan(&r->w->tree, e);
		start = (cpu_ns() - start) * SCAN_SHARE;
		next = clock_mono_ns() + (start > SCAN_MIN_NS ? start : SCAN_MIN_NS);
	}
	r->w->ended = r->loop.ended_pids;
	return rc;
}

static void add_use(struct process_use *to, const struct process_use *now,
		    const struct process_use *before)
{
	to->user_ns += now->user_ns - before->user_ns;
	to->system_ns += now->system_ns - before->system_ns;
	to->minor_faults += now->minor_faults - before->minor_faults;
	to->major_faults += now->major_faults - before->major_faults;
}

static void add_io(struct proc_io *to, const struct proc_io *now, const struct proc_io *before)
{
	to->has_value |= now->has_value;
	to->read_chars += now->read_chars - before->read_chars;
	to->write_chars += now->write_chars - before->write_chars;
	to->read_calls += now->read_calls - before->read_calls;
	to->write_calls += now->write_calls - before->write_calls;
	to->read_bytes += now->read_bytes - before->read_bytes;
	to->write_bytes += now->write_bytes - before->write_bytes;
}

/* A process that had ended when its parent was scanned was waited for by it, and the parent
 * includes its usage. */
static bool counts(const struct proctree *t, const struct process *p, const struct map *by_pid)
{
	const struct process *all = t->processes.data;
	uint32_t parent = map_get(by_pid, (uint64_t)p->parent);

	return parent == MAP_NONE || all[parent].last_scan <= p->last_scan;
}

static int sum_up(struct attached *w)
{
	const struct process *all = w->tree.processes.data;
	static const struct process nothing;
	struct map by_pid = { 0 };
	int rc = 0;

	for (size_t i = 0; i < w->tree.processes.count && rc == 0; i++)
		rc = map_put(&by_pid, (uint64_t)all[i].pid, (uint32_t)i);
	w->run_wait_ns = -1;
	for (size_t i = 0; rc == 0 && i < w->tree.processes.count; i++) {
		const struct process *p = &all[i];

		if (p->run_wait_ns >= 0)
			w->run_wait_ns = (w->run_wait_ns < 0 ? 0 : w->run_wait_ns) +
					 p->run_wait_ns - p->run_wait_before_ns;
		if (p->peak_rss_bytes > w->peak_rss_bytes)
			w->peak_rss_bytes = p->peak_rss_bytes;
		if (!counts(&w->tree, p, &by_pid)) {
			/* Its parent has all of it, also what was before. */
			add_use(&w->use, &nothing.own, &p->own_before);
			add_use(&w->use, &nothing.own, &p->reaped_before);
			add_io(&w->io, &nothing.io, &p->io_before);
			continue;
		}
		add_use(&w->use, &p->own, &p->own_before);
		add_use(&w->use, &p->reaped, &p->reaped_before);
		add_io(&w->io, &p->io, &p->io_before);
	}
	map_fini(&by_pid);
	return rc;
}

static void end(struct run *r, const struct cgroup *group)
{
	struct attached *w = r->w;
	struct counters *sets = r->sets.data;
	struct machine machine_before = w->machine;
	struct pressure now;

	for (size_t i = 0; i < r->sets.count; i++) {
		counters_read(&sets[i]);
		counters_add(&w->counters, &sets[i]);
	}
	w->elapsed_ns = clock_mono_ns() - r->start_ns;
	machine_read(&w->machine);
	machine_since(&w->machine, &machine_before);
	now = pressure_read();
	pressure_since(&w->pressure, &now);
	cgroup_since(group, &w->cgroup);
	w->scan_ns = w->tree.scans > 1 ? w->elapsed_ns / (w->tree.scans - 1) : w->elapsed_ns;
}

int attached_run(const struct attached_opts *o, struct attached *ret, struct err *e)
{
	struct run r = { .opts = o, .w = ret };
	struct counters *sets;
	struct cgroup group;
	int rc;

	*ret = (struct attached){ .tree = { .roots = o->pids,
					    .root_count = o->pid_count,
					    .has_all = !o->pid_count,
					    .has_io = true } };
	rc = begin(&r, &group, e);
	if (rc == 0)
		rc = observe(&r, e);
	if (rc == 0) {
		end(&r, &group);
		rc = sum_up(ret) < 0 ? err_nomem(e) : 0;
	}
	sets = r.sets.data;
	for (size_t i = 0; i < r.sets.count; i++)
		counters_close(&sets[i]);
	rows_fini(&r.sets);
	ret->tree.exits = NULL;
	exit_events_close(&r.exits);
	runloop_close(&r.loop);
	return rc;
}

void attached_fini(struct attached *w)
{
	proctree_fini(&w->tree);
}
