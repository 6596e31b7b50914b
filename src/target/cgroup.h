/* SPDX-License-Identifier: MIT */
/*
 * cgroup: reads the limits and usage of a process' control group.
 *
 * Source: cgroups(7); proc(5), /proc/PID/cgroup and /proc/PID/mountinfo; kernel
 * Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and cgroup-v1/cpuacct.rst.
 */
#ifndef TARGET_CGROUP_H
#define TARGET_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "target/pressure.h"

#define CGROUP_PATH_MAX 1024

/* Folders; "": none. Version 2 has all controllers in one. */
struct cgroup {
	char unified[CGROUP_PATH_MAX]; /* of version 2 */
	char memory[CGROUP_PATH_MAX];  /* of version 1 */
	char cpu[CGROUP_PATH_MAX];     /* of version 1 */
	char cpuacct[CGROUP_PATH_MAX]; /* of version 1 */
};

/* process: "self" or a pid. 0 or -ENOMEM; all folders are "" without control groups. */
int cgroup_find(const char *process, struct cgroup *ret, struct err *e) MUST_CHECK;

/* A value; absent is not zero. */
struct cgroup_value {
	bool has_value;
	bool is_unlimited; /* of limits */
	int64_t value;
};

/* Usage and limits of the group, in bytes and nanoseconds. */
struct cgroup_usage {
	struct cgroup_value memory_peak;  /* since the group was created */
	struct cgroup_value memory_limit; /* the lowest of the group and its parents */
	struct cgroup_value limit_hits;   /* count of hits of the limit */
	struct cgroup_value oom_kills;    /* processes killed by the OOM killer */
	/* The tightest quota of the group and its parents, and its throttling. */
	struct cgroup_value cpu_quota_ns; /* a period of cpu_period_ns */
	struct cgroup_value cpu_period_ns;
	struct cgroup_value throttled_count; /* periods */
	struct cgroup_value throttled_ns;
	/* Of all processes that are or were in the group and those below. */
	struct cgroup_value user_ns, system_ns, major_faults;
	struct pressure pressure; /* version 2 only */
};

void cgroup_read(const struct cgroup *c, struct cgroup_usage *ret);

/* Current values; for totals, the difference to before. */
void cgroup_since(const struct cgroup *c, struct cgroup_usage *before);

#endif
