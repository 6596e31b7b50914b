/* SPDX-License-Identifier: MIT */
#include "usage/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"

#define MAX_TEXT ((size_t)4 << 20) /* /proc/stat has a number for each interrupt */

const char *const machine_event_names[MACHINE_EVENTS] = {
	[MACHINE_THP_ALLOC] = "thp_fault_alloc",
	[MACHINE_THP_FALLBACK] = "thp_fault_fallback",
	[MACHINE_COMPACT_STALL] = "compact_stall",
	[MACHINE_ALLOC_STALL] = "allocstall", /* and allocstall_normal, ... of each zone */
	[MACHINE_NUMA_MISS] = "numa_miss",
};

static int64_t ns_of_ticks(unsigned long long ticks)
{
	return (int64_t)ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
}

/* "cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..."; a guest's time is in USER. */
static void take_cpu(struct machine *m, const char *line)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal = 0;

	if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &iowait, &irq, &softirq, &steal) < 7)
		return;
	m->has_cpu = true;
	m->user_ns = ns_of_ticks(user + nice);
	m->system_ns = ns_of_ticks(system + irq + softirq);
	m->iowait_ns = ns_of_ticks(iowait);
	m->steal_ns = ns_of_ticks(steal);
}

static void take_stat_line(struct machine *m, const char *line)
{
	if (strncmp(line, "cpu ", 4) == 0)
		take_cpu(m, line);
	else if (strncmp(line, "cpu", 3) == 0)
		m->cpu_count++;
	else if (strncmp(line, "ctxt ", 5) == 0)
		m->switches = strtoll(line + 5, NULL, 10);
	else if (strncmp(line, "processes ", 10) == 0)
		m->forks = strtoll(line + 10, NULL, 10);
}

/* "NAME VALUE"; the kernel splits some by zone: "NAME_ZONE VALUE". */
static void take_event_line(struct machine *m, const char *line)
{
	const char *value = strchr(line, ' ');

	for (size_t i = 0; value && i < MACHINE_EVENTS; i++) {
		size_t len = strlen(machine_event_names[i]);
		bool has_zones = i == MACHINE_ALLOC_STALL;

		if (strncmp(line, machine_event_names[i], len) != 0 ||
		    (line[len] != ' ' && !(has_zones && line[len] == '_')))
			continue;
		if (m->events[i] < 0)
			m->events[i] = 0;
		m->events[i] += strtoll(value, NULL, 10);
	}
}

static void read_lines(struct machine *m, const char *path,
		       void (*take)(struct machine *m, const char *line))
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct cursor c;
	struct err e;
	const char *line;
	size_t len;

	if (file_read_small(path, MAX_TEXT, &text, &e) < 0 || !text.data)
		return;
	c = cursor_make(text.data, text.len);
	while (cursor_line(&c, &line, &len)) {
		char copy[256];

		snprintf(copy, sizeof copy, "%.*s", (int)len, line);
		take(m, copy);
	}
}

void machine_read(struct machine *ret)
{
	*ret = (struct machine){ .time_ns = clock_mono_ns() };
	for (size_t i = 0; i < MACHINE_EVENTS; i++)
		ret->events[i] = -1;
	read_lines(ret, "/proc/stat", take_stat_line);
	read_lines(ret, "/proc/vmstat", take_event_line);
}

void machine_since(struct machine *now, const struct machine *before)
{
	now->has_cpu &= before->has_cpu;
	now->time_ns -= before->time_ns;
	now->user_ns -= before->user_ns;
	now->system_ns -= before->system_ns;
	now->iowait_ns -= before->iowait_ns;
	now->steal_ns -= before->steal_ns;
	now->switches -= before->switches;
	now->forks -= before->forks;
	for (size_t i = 0; i < MACHINE_EVENTS; i++)
		if (now->events[i] >= 0)
			now->events[i] -= before->events[i];
}

int64_t machine_busy_ns(const struct machine *m)
{
	return m->user_ns + m->system_ns + m->steal_ns;
}
