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

#define LOOK_NS INT64_C(20000000)
#define LOOK_SHARE 50 /* a look takes at most this part of the time between two */

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

static int make_copy(struct copies *c, const struct copies_opts *o, const struct rlimit *files,
		     int null_fd, struct err *e)
{
	struct copy *copy = &c->all[c->count];
	const struct launch_opts launch = { .argv = o->argv,
					    .mask = watch_old_mask(&c->watch),
					    .files = files,
					    .null_fd = null_fd };
	int rc = launch_new(&copy->launch, &launch, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < COUNTERS; i++)
		copy->counters.all[i].fd = -1;
	c->count++;
	counters_open(&copy->counters, copy->launch.pid);
	if (o->pins)
		rc = pin(copy->launch.pid, o->pins->cpus[(c->count - 1) % o->pins->count], e);
	if (rc == 0 && copy->launch.pid_fd > 0)
		rc = watch_add(&c->watch, copy->launch.pid_fd, WATCH_COMMAND, e);
	return rc;
}

/* A copy has eleven counters. */
static void raise_file_limit(struct rlimit *ret_old)
{
	struct rlimit raised;

	getrlimit(RLIMIT_NOFILE, ret_old);
	raised = *ret_old;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

int copies_new(const struct copies_opts *o, struct copies *ret, struct err *e)
{
	struct rlimit files;
	int null_fd, rc;

	*ret = (struct copies){ 0 };
	raise_file_limit(&files);
	ret->all = calloc(o->count, sizeof *ret->all);
	if (!ret->all)
		return err_nomem(e);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0)
		return err_errno(e, "/dev/null");
	rc = watch_open(&ret->watch, e);
	for (size_t i = 0; rc == 0 && i < o->count; i++)
		rc = make_copy(ret, o, &files, null_fd, e);
	close(null_fd);
	if (rc < 0)
		copies_fini(ret);
	return rc;
}

int copies_start(struct copies *c, const char *name, struct err *e)
{
	for (size_t i = 0; i < c->count; i++) {
		int rc;

		c->all[i].start_ns = clock_mono_ns();
		rc = launch_start(&c->all[i].launch, name, e);
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
static struct copy *find_copy(struct copies *c, const pid_t *pids, const struct proctree *t,
			      const struct process *p)
{
	/* A cycle is possible where numbers are used again. */
	for (size_t steps = 0; p && steps <= t->processes.count; steps++) {
		for (size_t i = 0; i < c->count; i++)
			if (pids[i] == p->pid)
				return &c->all[i];
		p = find(t, p->parent);
	}
	return NULL;
}

static void share_out(struct copies *c, const pid_t *pids, const struct proctree *t)
{
	const struct process *all = t->processes.data;

	for (size_t i = 0; i < t->processes.count; i++) {
		struct copy *copy = find_copy(c, pids, t, &all[i]);

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

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* Those that have ended; their descriptors are closed and not watched any more. Returns how many
 * copies run. */
static size_t reap(struct copies *c, struct proctree *t, int *rc, struct err *e)
{
	size_t running = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct copy *copy = &c->all[i];

		if (!copy->launch.pid)
			continue;
		if (!has_ended(copy->launch.pid)) {
			running++;
			continue;
		}
		copy->wall_ns = clock_mono_ns() - copy->start_ns;
		if (*rc == 0)
			*rc = proctree_look(t, e); /* the last figures, while it is a zombie */
		launch_poll(&copy->launch, &copy->status, &copy->usage);
		launch_close(&copy->launch);
		counters_read(&copy->counters);
	}
	return running;
}

void copies_signal(struct copies *c, int number)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->all[i].launch.pid)
			kill(c->all[i].launch.pid, number);
	c->signal = number;
}

/* The terminal tells the copies by itself. */
static void pass_on(struct copies *c, const struct watch_news *news)
{
	if (!news->is_from_kernel)
		copies_signal(c, news->signal);
	c->signal = news->signal;
}

static int wait_for_all(struct copies *c, struct proctree *t, struct err *e)
{
	int64_t next = clock_mono_ns() + LOOK_NS / 4;
	struct watch_news news;
	int rc = 0;

	while (reap(c, t, &rc, e)) {
		if (clock_mono_ns() >= next) {
			int64_t start = cpu_ns(), pause;

			if (rc == 0)
				rc = proctree_look(t, e);
			pause = (cpu_ns() - start) * LOOK_SHARE;
			next = clock_mono_ns() + (pause > LOOK_NS ? pause : LOOK_NS);
		}
		watch_wait(&c->watch, next - clock_mono_ns(), &news);
		if (news.signals)
			pass_on(c, &news);
	}
	return rc;
}

int copies_wait(struct copies *c, struct err *e)
{
	struct proctree tree = { 0 };
	struct machine before;
	pid_t *pids = reallocarray(NULL, c->count, sizeof *pids);
	int64_t own = cpu_ns();
	int rc;

	if (!pids)
		return err_nomem(e);
	for (size_t i = 0; i < c->count; i++)
		pids[i] = c->all[i].launch.pid;
	machine_read(&before);
	rc = wait_for_all(c, &tree, e);
	machine_read(&c->machine);
	machine_since(&c->machine, &before);
	c->elapsed_ns = clock_mono_ns() - c->all[0].start_ns;
	if (rc == 0)
		share_out(c, pids, &tree);
	c->own_ns = cpu_ns() - own;
	proctree_fini(&tree);
	free(pids);
	return rc;
}

/* The last first: those that wait to be started hold the pipes of those before them. */
void copies_fini(struct copies *c)
{
	for (size_t i = c->count; i-- > 0;) {
		struct copy *copy = &c->all[i];
		pid_t pid = copy->launch.pid;

		if (pid && !copy->launch.go_fd) {
			kill(pid, SIGKILL);
			while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
		launch_close(&copy->launch);
		counters_close(&copy->counters);
	}
	watch_close(&c->watch);
	free(c->all);
	*c = (struct copies){ 0 };
}
