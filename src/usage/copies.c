/* SPDX-License-Identifier: MIT */
#include "usage/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/proctree.h"

#define SCAN_NS INT64_C(20000000) /* between scans of /proc; longer where a scan takes long */
#define SCAN_SHARE 50             /* a scan takes at most this part of the time between two */

static int64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int pin(pid_t pid, uint32_t cpu, struct err *e)
{
	cpu_set_t *set = CPU_ALLOC(CPULIST_MAX);
	size_t bytes = CPU_ALLOC_SIZE(CPULIST_MAX);
	int rc = 0;

	if (!set)
		return err_nomem(e);
	CPU_ZERO_S(bytes, set);
	CPU_SET_S(cpu, bytes, set);
	if (sched_setaffinity(pid, bytes, set) < 0)
		rc = err_errno(e, "CPU %u", cpu);
	CPU_FREE(set);
	return rc;
}

static int make_copy(struct copies *c, const struct copies_opts *o, int null_fd, struct err *e)
{
	struct copy *copy = &c->all[c->count];
	const struct launch_opts command = { .argv = o->argv, .null_fd = null_fd };
	int rc = runloop_prepare(&c->loop, &command, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < COUNTERS; i++)
		copy->counters.all[i].fd = -1;
	copy->pid = c->loop.commands[c->count].pid;
	c->count++;
	counters_open(&copy->counters, copy->pid);
	return o->pins ? pin(copy->pid, o->pins->cpus[(c->count - 1) % o->pins->count], e) : 0;
}

int copies_new(const struct copies_opts *o, struct copies *ret, struct err *e)
{
	int null_fd, rc;

	*ret = (struct copies){ 0 };
	ret->all = calloc(o->count, sizeof *ret->all);
	if (!ret->all)
		return err_nomem(e);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0)
		return err_errno(e, "/dev/null");
	rc = runloop_open(&ret->loop, e);
	ret->loop.second_signal = RUNLOOP_PASS_ON;
	for (size_t i = 0; rc == 0 && i < o->count; i++)
		rc = make_copy(ret, o, null_fd, e);
	close(null_fd);
	if (rc < 0)
		copies_fini(ret);
	return rc;
}

int copies_start(struct copies *c, struct err *e)
{
	for (size_t i = 0; i < c->count; i++) {
		int rc;

		c->all[i].start_ns = clock_mono_ns();
		rc = launch_start(&c->loop.commands[i], e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static const struct process *find(const struct proctree *t, pid_t pid)
{
	const struct process *all = t->processes.data;

	for (size_t i = t->processes.count; i-- > 0;)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

/* The copy that a process descends from; NULL: it was an orphan when it was seen first. */
static struct copy *find_copy(struct copies *c, const struct proctree *t, const struct process *p)
{
	/* A cycle is possible where numbers are used again. */
	for (size_t steps = 0; p && steps <= t->processes.count; steps++) {
		for (size_t i = 0; i < c->count; i++)
			if (c->all[i].pid == p->pid)
				return &c->all[i];
		p = find(t, p->parent);
	}
	return NULL;
}

static void share_out(struct copies *c, const struct proctree *t)
{
	const struct process *all = t->processes.data;

	for (size_t i = 0; i < t->processes.count; i++) {
		struct copy *copy = find_copy(c, t, &all[i]);

		if (!copy)
			continue;
		copy->process_count++;
		if (all[i].threads > copy->thread_peak)
			copy->thread_peak = all[i].threads;
		if (all[i].run_wait_ns >= 0)
			copy->run_wait_ns += all[i].run_wait_ns;
	}
	for (size_t i = 0; i < c->count; i++)
		if (!c->all[i].process_count)
			c->all[i].run_wait_ns = -1;
}

/* Takes what those used that have ended since the last time. */
static void take_ended(struct copies *c, struct proctree *t, int *rc, struct err *e)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct launch *command = &c->loop.commands[i];
		struct copy *copy = &c->all[i];

		if (!command->pid || !command->has_ended)
			continue;
		copy->wall_ns = clock_mono_ns() - copy->start_ns;
		if (*rc == 0)
			*rc = proctree_scan(t, e); /* the last metrics, while it is a zombie */
		runloop_reap(&c->loop, i);
		copy->status = command->status;
		copy->usage = command->usage;
		counters_read(&copy->counters);
	}
}

bool copies_terminate(struct copies *c)
{
	if (!runloop_step(&c->loop, 0)) /* learns who has ended */
		return false;
	runloop_signal(&c->loop, SIGTERM);
	return true;
}

static int wait_for_all(struct copies *c, struct proctree *t, struct err *e)
{
	int64_t next = clock_mono_ns() + SCAN_NS / 4;
	bool is_over = false;
	int rc = 0;

	while (!is_over) {
		is_over = !runloop_step(&c->loop, next - clock_mono_ns());
		take_ended(c, t, &rc, e);
		if (!is_over && clock_mono_ns() >= next) {
			int64_t start = cpu_ns(), pause;

			if (rc == 0)
				rc = proctree_scan(t, e);
			pause = (cpu_ns() - start) * SCAN_SHARE;
			next = clock_mono_ns() + (pause > SCAN_NS ? pause : SCAN_NS);
		}
	}
	return rc;
}

int copies_wait(struct copies *c, struct err *e)
{
	struct proctree tree = { 0 };
	struct machine before;
	int64_t own = cpu_ns();
	int rc;

	machine_read(&before);
	rc = wait_for_all(c, &tree, e);
	machine_read(&c->machine);
	machine_since(&c->machine, &before);
	c->elapsed_ns = clock_mono_ns() - c->all[0].start_ns;
	if (rc == 0)
		share_out(c, &tree);
	c->signal = c->loop.signal;
	c->own_ns = cpu_ns() - own;
	proctree_fini(&tree);
	return rc;
}

void copies_fini(struct copies *c)
{
	runloop_kill(&c->loop);
	runloop_close(&c->loop);
	for (size_t i = 0; i < c->count; i++)
		counters_close(&c->all[i].counters);
	free(c->all);
	*c = (struct copies){ 0 };
}
