/* SPDX-License-Identifier: MIT */
/*
 * cgroup: where the figures of a process' control group lie.
 *
 * Source: cgroups(7); proc(5), /proc/PID/cgroup and /proc/PID/mountinfo; kernel
 * Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
 */
#ifndef TARGET_CGROUP_H
#define TARGET_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "target/pressure.h"

#define CGROUP_PATH_MAX 1024

/* Folders, "" where there is none. Version 2 has all controllers in one. */
struct cgroup {
	char unified[CGROUP_PATH_MAX]; /* of version 2 */
	char memory[CGROUP_PATH_MAX];  /* of version 1 */
	char cpu[CGROUP_PATH_MAX];     /* of version 1 */
};

/* Of a process: "self" or its number. 0 or -ENOMEM; a system without control groups has none. */
int cgroup_find(const char *process, struct cgroup *ret, struct err *e) MUST_CHECK;

/* A figure: absent is not zero. */
struct cgroup_value {
	bool has_value;
	bool is_unlimited; /* of limits */
	int64_t value;
};

/* What the group has and may have. Bytes and nanoseconds. */
struct cgroup_usage {
	struct cgroup_value memory_peak;  /* since the group was made */
	struct cgroup_value memory_limit; /* the least of it and those above */
	struct cgroup_value limit_hits;   /* how often it would have had more */
	struct cgroup_value oom_kills;    /* processes of it that the kernel ended for that */
	/* The scarcest of it and those above, and how that is throttled. */
	struct cgroup_value cpu_quota_ns; /* a period of cpu_period_ns */
	struct cgroup_value cpu_period_ns;
	struct cgroup_value throttled_count; /* periods */
	struct cgroup_value throttled_ns;
	struct pressure pressure; /* version 2 only */
};

void cgroup_read(const struct cgroup *c, struct cgroup_usage *ret);

/* As it is now; of what only grows, what came since before. */
void cgroup_since(const struct cgroup *c, struct cgroup_usage *before);

#endif
