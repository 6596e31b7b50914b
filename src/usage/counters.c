/* SPDX-License-Identifier: MIT */
#include "usage/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name, *unit;
	uint32_t type;
	uint64_t config;
	bool leads;     /* begins a group */
	bool is_kernel; /* happens there only: nothing to count in user code */
} events[COUNTERS] = {
	{ "task-clock", "nanoseconds", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, false },
	{ "page-faults", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, false },
	{ "context-switches", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true,
	  true },
	{ "cpu-migrations", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true, true },
	{ "cycles", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, false },
	{ "instructions", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false },
	{ "stalled-cycles-frontend", "count", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, true, false },
	{ "cache-references", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, true,
	  false },
	{ "cache-misses", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, false },
	{ "branches", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, true, false },
	{ "branch-misses", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, false },
};

#define UNCOUNTED_NS INT64_C(20000000) /* of CPU time, at least, besides a tenth of it */

/* Of whom, and from when on. */
struct target {
	pid_t tid;
	int cpu;
	bool is_waiting; /* counts from its exec */
};

static int open_one(size_t i, const struct target *of, int leader, bool is_user_only)
{
	struct perf_event_attr attr = {
		.type = events[i].type,
		.size = sizeof attr,
		.config = events[i].config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = of->is_waiting && leader < 0,
		.enable_on_exec = of->is_waiting && leader<0, .inherit = of->tid> 0,
		.exclude_kernel = is_user_only,
		.exclude_hv = is_user_only,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, of->tid, of->cpu, leader,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void open_all(struct counters *c, const struct target *of)
{
	int leader = -1;

	for (size_t i = 0; i < COUNTERS; i++) {
		struct counter *one = &c->all[i];

		*one = (struct counter){ .name = events[i].name, .unit = events[i].unit };
		if (events[i].leads)
			leader = -1;
		one->fd = open_one(i, of, leader, false);
		if (!events[i].is_kernel && (one->fd == -EACCES || one->fd == -EPERM)) {
			one->is_user_only = true;
			one->fd = open_one(i, of, leader, true);
		}
		one->error = one->fd < 0 ? one->fd : 0;
		if (one->fd < 0)
			one->fd = -1;
		if (events[i].leads)
			leader = one->fd;
	}
}

void counters_open(struct counters *c, pid_t pid)
{
	open_all(c, &(struct target){ .tid = pid, .cpu = -1, .is_waiting = true });
}

void counters_open_running(struct counters *c, pid_t tid, int cpu)
{
	open_all(c, &(struct target){ .tid = tid, .cpu = cpu });
}

void counters_add(struct counters *sum, const struct counters *one)
{
	for (size_t i = 0; i < COUNTERS; i++) {
		struct counter *to = &sum->all[i];
		const struct counter *from = &one->all[i];

		to->name = from->name;
		to->unit = from->unit;
		to->fd = -1;
		to->is_user_only |= from->is_user_only;
		to->value += from->value;
		to->enabled_ns += from->enabled_ns;
		to->running_ns += from->running_ns;
		if (!to->error)
			to->error = from->error;
	}
}

static void read_one(struct counter *c)
{
	uint64_t got[3];

	if (read(c->fd, got, sizeof got) != (ssize_t)sizeof got) {
		c->error = -EIO;
		return;
	}
	c->enabled_ns = (int64_t)got[1];
	c->running_ns = (int64_t)got[2];
	if (got[2] == 0 && got[1] > 0)
		c->error = -ENODATA; /* never had its turn */
	else if (got[2] < got[1])
		c->value = (int64_t)((double)got[0] * (double)got[1] / (double)got[2]);
	else
		c->value = (int64_t)got[0];
}

void counters_read(struct counters *c)
{
	for (size_t i = 0; i < COUNTERS; i++)
		if (c->all[i].fd >= 0)
			read_one(&c->all[i]);
}

void counters_check_time(struct counters *c, int64_t cpu_ns)
{
	for (size_t i = 0; i < COUNTERS; i++) {
		struct counter *one = &c->all[i];

		if (!one->error && cpu_ns - one->enabled_ns > UNCOUNTED_NS + cpu_ns / 10)
			one->error = -ESTALE;
	}
}

void counters_close(struct counters *c)
{
	for (size_t i = 0; i < COUNTERS; i++) {
		if (c->all[i].name && c->all[i].fd >= 0)
			close(c->all[i].fd);
		c->all[i].fd = -1;
	}
}
