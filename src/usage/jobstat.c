/* SPDX-License-Identifier: MIT */
#include "usage/jobstat.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "target/runloop.h"

#define SCAN_MIN_NS INT64_C(1000000) /* at first: short commands are seen, too */
#define SCAN_MAX_NS INT64_C(20000000)
#define SCAN_SHARE 50 /* a scan takes at most this part of the time between two */
/* Memory that the exec itself touches; with the kernel's counters, which are inexact by so much. */
#define EXEC_KBYTES 768

struct run {
	struct job *job;
	struct runloop loop;
	struct exit_events exits;
	int64_t next_scan_ns, start_ns;
	bool has_failed_scan;
};

/* Waits for the command, which has ended, and takes what it and its descendants read and wrote:
 * exactly, and also where its own /proc/PID/io may not be read. */
static void wait_for_command(struct run *r)
{
	struct proc_io before, *io = &r->job->io;
	const struct launch *command = &r->loop.commands[0];
	int64_t own = proc_io_read("self", &before);

	runloop_reap(&r->loop, 0);
	r->job->status = command->status;
	r->job->end_signal = command->end_signal;
	r->job->usage = command->usage;
	proc_io_read("self", io);
	io->has_value &= before.has_value;
	io->read_chars -= before.read_chars + own;
	io->write_chars -= before.write_chars;
	io->read_calls -= before.read_calls + 1;
	io->write_calls -= before.write_calls;
	io->read_bytes -= before.read_bytes;
	io->write_bytes -= before.write_bytes;
}

/* Of all that were seen. */
static int64_t sum_run_wait(const struct proctree *t)
{
	const struct process *all = t->processes.data;
	int64_t sum = -1;

	for (size_t i = 0; i < t->processes.count; i++)
		if (all[i].run_wait_ns >= 0)
			sum = (sum < 0 ? 0 : sum) + all[i].run_wait_ns;
	return sum;
}

static void add_time(struct timeval *to, const struct timeval *t)
{
	to->tv_sec += t->tv_sec + (to->tv_usec + t->tv_usec) / 1000000;
	to->tv_usec = (to->tv_usec + t->tv_usec) % 1000000;
}

static void add_orphan(struct job *j, const struct rusage *u)
{
	add_time(&j->orphans.ru_utime, &u->ru_utime);
	add_time(&j->orphans.ru_stime, &u->ru_stime);
	if (u->ru_maxrss > j->orphans.ru_maxrss)
		j->orphans.ru_maxrss = u->ru_maxrss;
	j->orphan_count++;
}

/* Our children that ended, but not the command: its usage is read first. */
static void reap_orphans(struct run *r)
{
	siginfo_t info = { 0 };
	struct rusage usage;

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
	       info.si_pid != runloop_pid(&r->loop)) {
		if (wait4(info.si_pid, NULL, WNOHANG, &usage) == info.si_pid)
			add_orphan(r->job, &usage);
		info.si_pid = 0;
	}
}

static int64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* A scan that fails costs what it would have found, and not the measurement. */
static void scan_tree(struct run *r)
{
	struct err e;

	if (proctree_scan(&r->job->tree, &e) == 0 || r->has_failed_scan)
		return;
	r->has_failed_scan = true;
	log_msg(LOG_WARN, "stat", "%s: what processes used may be incomplete", e.msg);
}

static void scan(struct run *r)
{
	int64_t start = cpu_ns(), end, pause;

	scan_tree(r);
	pause = (cpu_ns() - start) * SCAN_SHARE;
	end = clock_mono_ns();
	if (pause < SCAN_MIN_NS)
		pause = SCAN_MIN_NS;
	if (pause < SCAN_MAX_NS && end - r->start_ns > 10 * SCAN_MAX_NS)
		pause = SCAN_MAX_NS;
	r->next_scan_ns = end + pause;
}

static void wait_for_end(struct run *r)
{
	while (runloop_step(&r->loop, r->next_scan_ns - clock_mono_ns())) {
		reap_orphans(r);
		if (clock_mono_ns() >= r->next_scan_ns)
			scan(r);
	}
	r->job->signal = r->loop.signal;
}

static int64_t ns_of(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * 1000;
}

/* All of usage belongs to a command that waited for no child: use it instead of the last scan. */
static void settle_command(struct job *j, pid_t pid)
{
	struct process *all = j->tree.processes.data;
	const struct rusage *u = &j->usage;

	for (size_t i = 0; i < j->tree.processes.count; i++) {
		struct process *p = &all[i];

		if (p->pid != pid || p->has_ended || p->reaped.minor_faults)
			continue;
		p->own = (struct process_use){ ns_of(u->ru_utime), ns_of(u->ru_stime), u->ru_minflt,
					       u->ru_majflt };
		if (!job_has_small_peak(j))
			p->peak_rss_bytes = u->ru_maxrss * 1024;
	}
}

/* Reaps orphans that ended before the command but were not reported before it. */
static void reap_rest(struct job *j)
{
	struct rusage usage;

	while (wait4(-1, NULL, WNOHANG, &usage) > 0)
		add_orphan(j, &usage);
}

static void take_metrics(struct run *r, const struct cgroup *group)
{
	struct job *j = r->job;
	struct pressure now;
	pid_t pid;

	j->run_wait_ns = sum_run_wait(&j->tree);
	pid = runloop_pid(&r->loop);
	wait_for_command(r);
	settle_command(j, pid);
	reap_rest(j);
	counters_read(&j->counters);
	counters_check_time(&j->counters, ns_of(j->usage.ru_utime) + ns_of(j->usage.ru_stime));
	now = pressure_read();
	pressure_since(&j->pressure, &now);
	cgroup_since(group, &j->cgroup);
	j->scan_ns = j->tree.scans ? j->elapsed_ns / j->tree.scans : 0;
}

static void count_left(struct run *r)
{
	const struct process *all;

	scan_tree(r);
	all = r->job->tree.processes.data;
	for (size_t i = 0; i < r->job->tree.processes.count; i++)
		r->job->left_count += all[i].is_alive;
}

static int run_prepared(struct run *r, bool *ret_no_exec, struct err *e)
{
	struct cgroup group;
	struct err none;
	int rc = cgroup_find("self", &group, e);

	if (rc < 0)
		return rc;
	if (exit_events_open(&r->exits, &none) == 0)
		r->job->tree.exits = &r->exits;
	else
		log_msg(LOG_DEBUG, "stat", "%s", none.msg);
	counters_open(&r->job->counters, runloop_pid(&r->loop));
	cgroup_read(&group, &r->job->cgroup);
	r->job->pressure = pressure_read();
	rc = proctree_scan(&r->job->tree, e); /* learns who is there already */
	if (rc < 0)
		return rc;
	proctree_reset(&r->job->tree);
	r->start_ns = clock_mono_ns();
	rc = runloop_start(&r->loop, e);
	*ret_no_exec = runloop_exec_error(&r->loop) != 0;
	r->job->floor_kbytes = r->loop.commands[0].peak_kbytes;
	if (rc < 0)
		return rc;
	wait_for_end(r);
	r->job->elapsed_ns = clock_mono_ns() - r->start_ns;
	scan_tree(r);
	take_metrics(r, &group);
	count_left(r);
	return 0;
}

int job_run(char *const *argv, struct job *ret, bool *ret_no_exec, struct err *e)
{
	struct run r = { .job = ret };
	const struct launch_opts command = { .argv = argv };
	int rc;

	*ret = (struct job){ 0 };
	*ret_no_exec = false;
	for (size_t i = 0; i < COUNTERS; i++)
		ret->counters.all[i].fd = -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = runloop_open(&r.loop, e);
	r.loop.second_signal = RUNLOOP_PASS_ON;
	if (rc == 0)
		rc = runloop_prepare(&r.loop, &command, e);
	if (rc == 0)
		rc = run_prepared(&r, ret_no_exec, e);
	ret->has_all_ends = r.exits.fd && !r.exits.has_lost;
	ret->tree.exits = NULL;
	exit_events_close(&r.exits);
	runloop_close(&r.loop);
	return rc;
}

bool job_has_small_peak(const struct job *j)
{
	return j->usage.ru_maxrss <= j->floor_kbytes + EXEC_KBYTES;
}

void job_fini(struct job *j)
{
	counters_close(&j->counters);
	proctree_fini(&j->tree);
}
