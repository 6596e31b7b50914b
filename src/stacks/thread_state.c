/* SPDX-License-Identifier: MIT */
#include "stacks/thread_state.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

#define KERNEL_BYTES 8192 /* read of the kernel's stack */
#define SCHED_BYTES 4096
#define STAT_BYTES 1024
#define LAST_RAN "se.exec_start"

void thread_state_fini(struct thread_state *s)
{
	buf_fini(&s->kernel);
}

void thread_state_put_kernel(struct buf *out, const char *text)
{
	const char *end = text + strlen(text);
	const char *separator = "";

	/* The innermost function is the first line. */
	while (end > text) {
		const char *line = end - 1;
		const char *name;

		while (line > text && line[-1] != '\n')
			line--;
		name = strstr(line, "] ");
		if (name && name < end) {
			buf_put_str(out, separator);
			buf_put(out, name + 2, strcspn(name + 2, "+\n"));
			separator = ";";
		}
		end = line;
	}
}

int64_t thread_state_sched_ns(const char *text, const char *key)
{
	uint64_t ms, ns = 0;
	const char *line = strstr(text, key);

	line = line ? strchr(line, ':') : NULL;
	if (!line || sscanf(line + 1, " %" SCNu64 ".%6" SCNu64, &ms, &ns) < 1 ||
	    ms > INT64_MAX / NS_PER_MS - 1)
		return -1;
	return (int64_t)ms * NS_PER_MS + (int64_t)ns;
}

static int64_t last_ran_ns(const char *path)
{
	char text[SCHED_BYTES];

	return file_read_start(path, text, sizeof text) ? thread_state_sched_ns(text, LAST_RAN)
							: -1;
}

/* The CPU that the thread ran on last: the 39th value of stat. -1: unknown. */
static int last_cpu(uint32_t pid, uint32_t tid)
{
	char path[PROC_PATH], text[STAT_BYTES];
	const char *at;

	snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, tid);
	if (!file_read_start(path, text, sizeof text))
		return -1;
	at = strrchr(text, ')');
	for (int i = 2; at && i < 39; i++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : -1;
}

/* What the clock of a CPU's run queue shows, which the kernel counts LAST_RAN by. */
static int64_t queue_clock_ns(int cpu)
{
	cpu_set_t before, only;
	int64_t now_ns = -1;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) < 0)
		return -1;
	CPU_ZERO(&only);
	CPU_SET((size_t)cpu, &only);
	if (sched_setaffinity(0, sizeof only, &only) < 0)
		return -1;
	sched_yield();
	now_ns = last_ran_ns("/proc/self/sched");
	sched_setaffinity(0, sizeof before, &before);
	return now_ns;
}

static int64_t blocked_ns(uint32_t pid, uint32_t tid)
{
	char path[PROC_PATH];
	int64_t from_ns, now_ns;

	snprintf(path, sizeof path, "/proc/%u/task/%u/sched", pid, tid);
	from_ns = last_ran_ns(path);
	if (from_ns < 0)
		return -1;
	now_ns = queue_clock_ns(last_cpu(pid, tid));
	return now_ns >= from_ns ? now_ns - from_ns : -1;
}

bool thread_state_read(struct thread_state *ret, uint32_t pid, uint32_t tid)
{
	char path[PROC_PATH], text[KERNEL_BYTES];

	ret->blocked_ns = -1;
	ret->wchan[0] = '\0';
	buf_clear(&ret->kernel);
	if (!proc_stat_read(&ret->stat, (pid_t)tid))
		return false;
	snprintf(path, sizeof path, "/proc/%u/task/%u/wchan", pid, tid);
	if (!file_read_start(path, ret->wchan, sizeof ret->wchan) || strcmp(ret->wchan, "0") == 0)
		ret->wchan[0] = '\0';
	snprintf(path, sizeof path, "/proc/%u/task/%u/stack", pid, tid);
	if (file_read_start(path, text, sizeof text))
		thread_state_put_kernel(&ret->kernel, text);
	if (ret->stat.state == 'D')
		ret->blocked_ns = blocked_ns(pid, tid);
	return true;
}
