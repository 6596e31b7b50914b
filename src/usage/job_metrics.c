/* SPDX-License-Identifier: MIT */
#include "usage/job_metrics.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "usage/metric_list.h"

static int64_t ns_of(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * 1000;
}

/* CPU time of the job that belongs to no process that was seen. */
static int64_t unsampled_ns(const struct job *j)
{
	const struct process *all = j->tree.processes.data;
	int64_t ns = ns_of(j->usage.ru_utime) + ns_of(j->usage.ru_stime) +
		     ns_of(j->orphans.ru_utime) + ns_of(j->orphans.ru_stime);

	for (size_t i = 0; i < j->tree.processes.count; i++)
		if (!all[i].is_alive) /* else it is in neither */
			ns -= all[i].own.user_ns + all[i].own.system_ns;
	return ns > 0 ? ns : 0;
}

static void add_end(struct stat_list *l, const struct job *j)
{
	struct stat_metric *f = stat_add(l, "exit status", "count", true, j->status);
	const char *name = j->end_signal ? compat_signal_name(j->end_signal) : NULL;

	if (name)
		stat_note(f, "time -v: Exit status; ended by SIG%s", name);
	else if (j->end_signal)
		stat_note(f, "time -v: Exit status; ended by signal %d", j->end_signal);
	else
		stat_note(f, "time -v: Exit status");
}

static void add_time(struct stat_list *l, const struct job *j)
{
	int64_t user = ns_of(j->usage.ru_utime), system = ns_of(j->usage.ru_stime);
	struct stat_metric *f;

	l->group = "time";
	stat_note(stat_add(l, "elapsed", "nanoseconds", true, j->elapsed_ns),
		  "time -v: Elapsed (wall clock)");
	stat_note(stat_add(l, "user", "nanoseconds", true, user), "time -v: User time");
	stat_note(stat_add(l, "system", "nanoseconds", true, system), "time -v: System time");
	stat_note(
		stat_add(l, "CPU", "percent", j->elapsed_ns > 0,
			 (int64_t)(100.0 * (double)(user + system) / (double)(j->elapsed_ns + 1))),
		"time -v: Percent of CPU this job got");
	f = stat_add(l, "unseen CPU time", "nanoseconds", true, unsampled_ns(j));
	f->is_verbose = true;
	stat_note(f, "%s",
		  j->has_all_ends ? "of processes since their last tick or switch, not attributed"
				  : "of processes too short to be scanned, or since the last scan");
	stat_note(stat_add(l, "run-queue wait", "nanoseconds", j->run_wait_ns >= 0, j->run_wait_ns),
		  "threads were ready, but had no CPU: all scanned ones");
	add_end(l, j);
}

/* A sum must not be less than the peak of one process. */
static int64_t peak_rss(const struct job *j)
{
	const struct process *all = j->tree.processes.data;
	int64_t peak = j->tree.peak_rss_bytes;

	if (!job_has_small_peak(j) && j->usage.ru_maxrss * 1024 > peak)
		peak = j->usage.ru_maxrss * 1024;
	for (size_t i = 0; i < j->tree.processes.count; i++)
		if (all[i].peak_rss_bytes > peak)
			peak = all[i].peak_rss_bytes;
	return peak;
}

/* The largest scanned process, if the maximum is likely its own: scans may have missed its peak, or
 * it. NULL: unknown. */
static const struct process *find_largest(const struct job *j)
{
	const struct process *all = j->tree.processes.data, *largest = NULL;

	for (size_t i = 0; i < j->tree.processes.count; i++)
		if (!largest || all[i].peak_rss_bytes > largest->peak_rss_bytes)
			largest = &all[i];
	if (!largest || (j->has_all_ends && job_has_small_peak(j)))
		return largest;
	return largest->peak_rss_bytes < j->usage.ru_maxrss * 1024 / 10 * 9 ? NULL : largest;
}

static void add_maximum(struct stat_list *l, const struct job *j)
{
	const struct process *p = find_largest(j);
	struct stat_metric *f = stat_add(l, "maximum RSS", "kbytes", true,
					 p && job_has_small_peak(j) ? p->peak_rss_bytes / 1024
								    : j->usage.ru_maxrss);

	if (job_has_small_peak(j) && !j->has_all_ends)
		stat_note(f, "time -v: Maximum resident set size; at most: the child had it "
			     "before the command");
	else if (p)
		stat_note(f, "time -v: Maximum resident set size; of process %d: %.32s",
			  (int)p->pid, p->command);
	else
		stat_note(f, "time -v: Maximum resident set size; of one process");
}

static void add_memory(struct stat_list *l, const struct job *j)
{
	const struct rusage *u = &j->usage;
	struct stat_metric *f;

	l->group = "memory";
	add_maximum(l, j);
	f = stat_add(l, "peak RSS of the tree", "bytes", peak_rss(j) > 0, peak_rss(j));
	f->is_verbose = j->tree.peak_count <= 1;
	stat_note(f, "sums of %lld scans, one in %.1f ms; shared pages count in each",
		  (long long)j->tree.scans, (double)j->scan_ns / 1e6);
	l->is_verbose = true;
	stat_note(
		stat_add(l, "peak anonymous memory", "bytes", j->tree.peak_anon_bytes > 0,
			 j->tree.peak_anon_bytes),
		j->tree.peak_anon_bytes <= 0
			? "the command was too short to be scanned"
			: "of the tree, without files' pages; near to jobacct_gather/cgroup's MaxRSS");
	stat_note(stat_add(l, "peak of processes", "count", true,
			   j->tree.peak_count > 1 ? j->tree.peak_count : 1),
		  "at the same time, in these scans");
	l->is_verbose = false;
	stat_note(stat_add(l, "major faults", "count", true, u->ru_majflt),
		  "time -v: Major (requiring I/O) page faults");
	stat_note(stat_add(l, "minor faults", "count", true, u->ru_minflt),
		  "time -v: Minor (reclaiming a frame) page faults");
	f = stat_add(l, "page size", "bytes", true, sysconf(_SC_PAGESIZE));
	f->is_verbose = true;
	stat_note(f, "time -v: Page size");
}

static void add_switches(struct stat_list *l, const struct job *j)
{
	l->group = "switches";
	stat_note(stat_add(l, "voluntary switches", "count", true, j->usage.ru_nvcsw),
		  "time -v: Voluntary context switches; it waited");
	stat_note(stat_add(l, "involuntary switches", "count", true, j->usage.ru_nivcsw),
		  "time -v: Involuntary context switches; it was preempted");
}

static void add_io(struct stat_list *l, const struct job *j)
{
	bool has = j->io.has_value;

	l->group = "I/O";
	l->is_verbose = true;
	stat_note(stat_add(l, "file system inputs", "count", true, j->usage.ru_inblock),
		  "time -v: File system inputs; blocks of 512 bytes");
	stat_note(stat_add(l, "file system outputs", "count", true, j->usage.ru_oublock),
		  "time -v: File system outputs; blocks of 512 bytes");
	stat_note(stat_add(l, "rchar", "bytes", has, j->io.read_chars),
		  "by read(2) and the like, also from caches and pipes");
	stat_note(stat_add(l, "wchar", "bytes", has, j->io.write_chars),
		  "by write(2) and the like");
	stat_note(stat_add(l, "read calls", "count", has, j->io.read_calls),
		  "syscr of /proc/PID/io");
	stat_note(stat_add(l, "write calls", "count", has, j->io.write_calls),
		  "syscw of /proc/PID/io");
	l->is_verbose = false;
	stat_note(stat_add(l, "read_bytes", "bytes", has, j->io.read_bytes), "from storage");
	stat_note(stat_add(l, "write_bytes", "bytes", has, j->io.write_bytes),
		  "made dirty, for storage");
}

static void add_orphans(struct stat_list *l, const struct job *j)
{
	struct stat_metric *f;

	l->group = "not waited for";
	stat_note(stat_add(l, "orphans", "count", true, j->orphan_count),
		  "ended, but their parents did not wait: not in what is above");
	stat_add(l, "user of orphans", "nanoseconds", true, ns_of(j->orphans.ru_utime));
	stat_add(l, "system of orphans", "nanoseconds", true, ns_of(j->orphans.ru_stime));
	f = stat_add(l, "CPU time of all", "nanoseconds", true,
		     ns_of(j->usage.ru_utime) + ns_of(j->usage.ru_stime) +
			     ns_of(j->orphans.ru_utime) + ns_of(j->orphans.ru_stime));
	f->is_verbose = !j->orphan_count;
	stat_note(f, "user, system, and that of orphans");
	stat_add(l, "maximum RSS of orphans", "kbytes", true, j->orphans.ru_maxrss);
	stat_note(stat_add(l, "left running", "count", true, j->left_count),
		  "outlived the command");
}

static int64_t number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoll(text, NULL, 10) : 0;
}

/* Where it is part of a job of Slurm's. */
static void add_slurm(struct stat_list *l, const struct job *j)
{
	int64_t cpus = number_of("SLURM_CPUS_ON_NODE");

	if (!getenv("SLURM_JOB_ID"))
		return;
	l->group = "Slurm";
	stat_note(stat_add(l, "Slurm job", "count", true, number_of("SLURM_JOB_ID")),
		  "SLURM_JOB_ID; 'auger stat --sacct' compares when it is over");
	stat_note(stat_add(l, "Slurm step", "count", getenv("SLURM_STEP_ID"),
			   number_of("SLURM_STEP_ID")),
		  "%s", getenv("SLURM_STEP_ID") ? "SLURM_STEP_ID" : "of the job's script");
	stat_note(stat_add(l, "Slurm CPUs", "count", cpus > 0, cpus), "SLURM_CPUS_ON_NODE");
	stat_note(stat_add(l, "reserved CPU time", "nanoseconds", cpus > 0, j->elapsed_ns * cpus),
		  "elapsed times these CPUs: this command's part of sacct's CPUTimeRAW");
}

static void add_idle(struct stat_list *l, const struct job *j)
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
	l->is_verbose = true;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stat_metric *f =
			stat_add(l, rows[i].name, rows[i].unit, true, rows[i].value);

		stat_note(f, "time -v: %s; always 0 on Linux", rows[i].label);
	}
}

size_t job_metrics(const struct job *j, struct stat_metric ret[STAT_MAX_METRICS])
{
	struct stat_list l = { .all = ret };

	add_time(&l, j);
	add_memory(&l, j);
	add_switches(&l, j);
	add_io(&l, j);
	add_orphans(&l, j);
	stat_add_counters(&l, &j->counters);
	l.is_verbose = true;
	stat_add_pressure(&l, &j->pressure);
	l.is_verbose = false;
	stat_add_cgroup(&l, &j->cgroup);
	add_slurm(&l, j);
	add_idle(&l, j);
	return l.count;
}

static void put_share(struct buf *to, double share, const char *words)
{
	if (share >= 0.01)
		buf_printf(to, ", %.0f %% %s", 100 * share, words);
}

void job_verdict(const struct job *j, struct buf *to)
{
	double elapsed = (double)(j->elapsed_ns > 0 ? j->elapsed_ns : 1);
	double user = (double)ns_of(j->usage.ru_utime) / elapsed;
	double kernel = (double)ns_of(j->usage.ru_stime) / elapsed;
	double ready = j->run_wait_ns > 0 ? (double)j->run_wait_ns / elapsed : 0;

	if (user + kernel + ready > 1.1) { /* several threads or processes at once */
		buf_printf(to, "%.2f CPUs were busy on average", user + kernel);
		put_share(to, kernel / (user + kernel), "of it in the kernel");
		if (ready > 0.05)
			buf_printf(to, "; %.2f threads were ready without a CPU", ready);
		return;
	}
	if (ready > 1 - user - kernel)
		ready = 1 - user - kernel;
	buf_printf(to, "%.0f %% of the time in user code", 100 * user);
	put_share(to, kernel, "in the kernel");
	put_share(to, ready, "ready without a CPU");
	put_share(to, 1 - user - kernel - ready, "waiting");
}

/* The command was forked before it was started: no process is older than the job. */
int job_processes(const struct job *j, struct stat_process **ret, struct err *e)
{
	const struct proctree *t = &j->tree;
	const struct process *from = t->processes.data;
	struct stat_process *to = reallocarray(NULL, t->processes.count + 1, sizeof *to);

	if (!to)
		return err_nomem(e);
	for (size_t i = 0; i < t->processes.count; i++)
		to[i] = (struct stat_process){
			.pid = from[i].pid,
			.parent = from[i].parent,
			.name = from[i].name,
			.command = from[i].command,
			.usage.wall_ns =
				from[i].wall_ns < j->elapsed_ns ? from[i].wall_ns : j->elapsed_ns,
			.usage.user_ns = from[i].own.user_ns,
			.usage.system_ns = from[i].own.system_ns,
			.usage.peak_rss_bytes = from[i].peak_rss_bytes,
			.usage.minor_faults = from[i].own.minor_faults,
			.usage.major_faults = from[i].own.major_faults,
			.usage.run_wait_ns = from[i].run_wait_ns,
		};
	*ret = to;
	return 0;
}
