/* SPDX-License-Identifier: MIT */
#include "target/cgroup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/file.h"

#define MAX_TEXT ((size_t)4 << 20)   /* of mountinfo: thousands of mounts */
#define UNLIMITED (INT64_C(1) << 60) /* version 1 has a number near 2^63 */

/* Is the word one of a list with commas? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && strncmp(at, word, len) == 0)
			return true;
	return false;
}

/* A hierarchy's mount: where it is, and which of its groups is there. */
struct mount {
	char point[CGROUP_PATH_MAX], root[CGROUP_PATH_MAX];
};

/* controller "": version 2. A line is "ID PARENT DEV ROOT POINT OPTIONS [TAGS] - TYPE SOURCE
 * OPTIONS". */
static bool take_mount(const char *line, const char *controller, struct mount *ret)
{
	const char *tail = strstr(line, " - ");
	char type[32], options[256];

	if (!tail || sscanf(tail, " - %31s %*s %255s", type, options) != 2)
		return false;
	if (controller[0] ? strcmp(type, "cgroup") != 0 || !has_word(options, controller)
			  : strcmp(type, "cgroup2") != 0)
		return false;
	return sscanf(line, "%*s %*s %*s %1023s %1023s", ret->root, ret->point) == 2;
}

static bool find_mount(const struct buf *mountinfo, const char *controller, struct mount *ret)
{
	struct cursor c = cursor_make(mountinfo->data, mountinfo->len);
	const char *line;
	size_t len;

	while (cursor_line(&c, &line, &len)) {
		char copy[4096];

		snprintf(copy, sizeof copy, "%.*s", (int)len, line);
		if (take_mount(copy, controller, ret))
			return true;
	}
	return false;
}

/* The group of the process in the hierarchy. A line is "ID:CONTROLLERS:PATH". */
static bool find_group(const struct buf *groups, const char *controller, char *ret, size_t size)
{
	struct cursor c = cursor_make(groups->data, groups->len);
	const char *line;
	size_t len;

	while (cursor_line(&c, &line, &len)) {
		char copy[CGROUP_PATH_MAX + 256], *list, *path;

		snprintf(copy, sizeof copy, "%.*s", (int)len, line);
		list = strchr(copy, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		list++;
		if (controller[0] ? !has_word(list, controller) : list[0] != '\0')
			continue;
		snprintf(ret, size, "%s", path);
		return true;
	}
	return false;
}

/* A container may see its group as the root of the mount, or not at all. */
static void place(const struct buf *groups, const struct buf *mounts, const char *controller,
		  char ret[CGROUP_PATH_MAX])
{
	struct mount mount;
	char group[CGROUP_PATH_MAX], path[2 * CGROUP_PATH_MAX];
	const char *below = group;
	struct stat st;
	size_t len;

	ret[0] = '\0';
	if (!find_mount(mounts, controller, &mount) ||
	    !find_group(groups, controller, group, sizeof group))
		return;
	len = strlen(mount.root);
	if (strcmp(mount.root, "/") != 0 && strncmp(group, mount.root, len) == 0)
		below += len;
	snprintf(path, sizeof path, "%s%s", mount.point, strcmp(below, "/") == 0 ? "" : below);
	if (stat(path, &st) < 0)
		snprintf(path, sizeof path, "%s", mount.point);
	if (strlen(path) < CGROUP_PATH_MAX)
		memcpy(ret, path, strlen(path) + 1);
}

int cgroup_find(const char *process, struct cgroup *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf groups = { 0 };
	CLEANUP(buf_fini) struct buf mounts = { 0 };
	char path[64];
	int rc;

	*ret = (struct cgroup){ 0 };
	snprintf(path, sizeof path, "/proc/%s/cgroup", process);
	rc = file_read_small(path, MAX_TEXT, &groups, e);
	if (rc == 0)
		rc = file_read_small("/proc/self/mountinfo", MAX_TEXT, &mounts, e);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	place(&groups, &mounts, "", ret->unified);
	place(&groups, &mounts, "memory", ret->memory);
	place(&groups, &mounts, "cpu", ret->cpu);
	place(&groups, &mounts, "cpuacct", ret->cpuacct);
	return 0;
}

static bool read_text(const char *folder, const char *name, char *text, size_t size)
{
	char path[CGROUP_PATH_MAX + 64];

	if (!folder[0])
		return false;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return file_read_start(path, text, size) > 0;
}

/* "max", -1 and what no machine has are no limit. */
static struct cgroup_value parse(const char *text)
{
	struct cgroup_value v = { .has_value = true };

	v.value = strtoll(text, NULL, 10);
	v.is_unlimited = strncmp(text, "max", 3) == 0 || v.value < 0 || v.value >= UNLIMITED;
	return v;
}

static struct cgroup_value read_value(const char *folder, const char *name, int64_t scale)
{
	struct cgroup_value v = { 0 };
	char text[64];

	if (read_text(folder, name, text, sizeof text))
		v = parse(text);
	v.value *= v.is_unlimited ? 1 : scale;
	return v;
}

/* The line "KEY VALUE" of a file of them. */
static struct cgroup_value read_key(const char *folder, const char *name, const char *key,
				    int64_t scale)
{
	struct cgroup_value v = { 0 };
	size_t len = strlen(key);
	char text[4096];

	if (!read_text(folder, name, text, sizeof text))
		return v;
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, key, len) == 0 && at[len] == ' ') {
			v = parse(at + len + 1);
			v.value *= scale;
		}
	return v;
}

/* Over the groups up to the root, which has no such file or no limit. */
static struct cgroup_value least_above(const char *folder, const char *name)
{
	char path[CGROUP_PATH_MAX];
	struct cgroup_value least = read_value(folder, name, 1);

	snprintf(path, sizeof path, "%s", folder);
	for (char *slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
		struct cgroup_value v;

		*slash = '\0';
		v = read_value(path, name, 1);
		if (v.has_value && !v.is_unlimited &&
		    (!least.has_value || least.is_unlimited || v.value < least.value))
			least = v;
	}
	return least;
}

/* "QUOTA PERIOD" */
static void read_quota(const char *folder, struct cgroup_usage *u)
{
	char text[64], *period;

	if (!read_text(folder, "cpu.max", text, sizeof text))
		return;
	period = strchr(text, ' ');
	if (!period)
		return;
	u->cpu_quota_ns = parse(text);
	u->cpu_quota_ns.value *= 1000;
	u->cpu_period_ns = parse(period + 1);
	u->cpu_period_ns.value *= 1000;
}

static void read_cpu(const char *folder, bool is_version_1, struct cgroup_usage *u)
{
	if (is_version_1) {
		u->cpu_quota_ns = read_value(folder, "cpu.cfs_quota_us", 1000);
		u->cpu_period_ns = read_value(folder, "cpu.cfs_period_us", 1000);
	} else {
		read_quota(folder, u);
	}
	u->throttled_count = read_key(folder, "cpu.stat", "nr_throttled", 1);
	u->throttled_ns = is_version_1 ? read_key(folder, "cpu.stat", "throttled_time", 1)
				       : read_key(folder, "cpu.stat", "throttled_usec", 1000);
}

/* CPUs that the quota is. */
static double quota_cpus(const struct cgroup_usage *u)
{
	if (!u->cpu_quota_ns.has_value || u->cpu_quota_ns.is_unlimited ||
	    u->cpu_period_ns.value <= 0)
		return INFINITY;
	return (double)u->cpu_quota_ns.value / (double)u->cpu_period_ns.value;
}

/* A group may use no more than those above it: the one that is limited most throttles. */
static void read_scarcest_cpu(const char *folder, bool is_version_1, struct cgroup_usage *u)
{
	char path[CGROUP_PATH_MAX];

	read_cpu(folder, is_version_1, u);
	snprintf(path, sizeof path, "%s", folder);
	for (char *slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
		struct cgroup_usage above = { 0 };

		*slash = '\0';
		read_cpu(path, is_version_1, &above);
		if (quota_cpus(&above) >= quota_cpus(u))
			continue;
		u->cpu_quota_ns = above.cpu_quota_ns;
		u->cpu_period_ns = above.cpu_period_ns;
		u->throttled_count = above.throttled_count;
		u->throttled_ns = above.throttled_ns;
	}
}

static void read_times(const struct cgroup *c, struct cgroup_usage *u)
{
	if (c->cpuacct[0]) {
		u->user_ns = read_value(c->cpuacct, "cpuacct.usage_user", 1);
		u->system_ns = read_value(c->cpuacct, "cpuacct.usage_sys", 1);
	} else {
		u->user_ns = read_key(c->unified, "cpu.stat", "user_usec", 1000);
		u->system_ns = read_key(c->unified, "cpu.stat", "system_usec", 1000);
	}
}

void cgroup_read(const struct cgroup *c, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){ 0 };
	if (c->memory[0]) {
		ret->memory_peak = read_value(c->memory, "memory.max_usage_in_bytes", 1);
		ret->memory_limit = least_above(c->memory, "memory.limit_in_bytes");
		ret->limit_hits = read_value(c->memory, "memory.failcnt", 1);
		ret->oom_kills = read_key(c->memory, "memory.oom_control", "oom_kill", 1);
		ret->major_faults = read_key(c->memory, "memory.stat", "total_pgmajfault", 1);
	} else {
		ret->memory_peak = read_value(c->unified, "memory.peak", 1);
		ret->memory_limit = least_above(c->unified, "memory.max");
		ret->limit_hits = read_key(c->unified, "memory.events", "max", 1);
		ret->oom_kills = read_key(c->unified, "memory.events", "oom_kill", 1);
		ret->major_faults = read_key(c->unified, "memory.stat", "pgmajfault", 1);
	}
	read_scarcest_cpu(c->cpu[0] ? c->cpu : c->unified, c->cpu[0], ret);
	read_times(c, ret);
	ret->pressure = pressure_of_group(c->unified);
}

void cgroup_since(const struct cgroup *c, struct cgroup_usage *before)
{
	struct cgroup_usage after;

	cgroup_read(c, &after);
	after.limit_hits.value -= before->limit_hits.value;
	after.oom_kills.value -= before->oom_kills.value;
	after.throttled_count.value -= before->throttled_count.value;
	after.throttled_ns.value -= before->throttled_ns.value;
	after.user_ns.value -= before->user_ns.value;
	after.system_ns.value -= before->system_ns.value;
	after.major_faults.value -= before->major_faults.value;
	pressure_since(&before->pressure, &after.pressure);
	after.pressure = before->pressure;
	*before = after;
}
