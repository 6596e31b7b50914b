/* SPDX-License-Identifier: MIT */
#include "sample/events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compat/compat.h"
#include "base/file.h"
#include "base/nearest.h"
#include "sample/pmu.h"
#include "sample/tracefs.h"

#define CLOCK(event_name, number)                                                \
	{                                                                        \
		.name = event_name, .sample_type = "cpu", .unit = "nanoseconds", \
		.type = PERF_TYPE_SOFTWARE, .config = (number), .is_clock = true \
	}
#define HARDWARE(event_name, number)                                             \
	{                                                                        \
		.name = event_name, .unit = "count", .type = PERF_TYPE_HARDWARE, \
		.config = (number)                                               \
	}
#define SOFTWARE(event_name, number)                                             \
	{                                                                        \
		.name = event_name, .unit = "count", .type = PERF_TYPE_SOFTWARE, \
		.config = (number)                                               \
	}

#define FAULTS(event_name, number)                                               \
	{                                                                        \
		.name = event_name, .unit = "count", .type = PERF_TYPE_SOFTWARE, \
		.config = (number), .period = 1, .has_address = true             \
	}

const struct event event_cycles = HARDWARE("cycles", PERF_COUNT_HW_CPU_CYCLES);
const struct event event_cpu_clock = CLOCK("cpu-clock", PERF_COUNT_SW_CPU_CLOCK);

static const struct event known[] = {
	HARDWARE("cycles", PERF_COUNT_HW_CPU_CYCLES),
	HARDWARE("cpu-cycles", PERF_COUNT_HW_CPU_CYCLES),
	HARDWARE("instructions", PERF_COUNT_HW_INSTRUCTIONS),
	HARDWARE("cache-references", PERF_COUNT_HW_CACHE_REFERENCES),
	HARDWARE("cache-misses", PERF_COUNT_HW_CACHE_MISSES),
	HARDWARE("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
	HARDWARE("branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", PERF_COUNT_HW_BRANCH_MISSES),
	HARDWARE("bus-cycles", PERF_COUNT_HW_BUS_CYCLES),
	HARDWARE("stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
	HARDWARE("ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES),
	CLOCK("cpu-clock", PERF_COUNT_SW_CPU_CLOCK),
	CLOCK("task-clock", PERF_COUNT_SW_TASK_CLOCK),
	FAULTS("page-faults", PERF_COUNT_SW_PAGE_FAULTS),
	FAULTS("faults", PERF_COUNT_SW_PAGE_FAULTS),
	FAULTS("minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN),
	FAULTS("major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ),
	SOFTWARE("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SOFTWARE("cs", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	SOFTWARE("migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	SOFTWARE("alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS),
	SOFTWARE("cgroup-switches", PERF_COUNT_SW_CGROUP_SWITCHES),
};

const char *event_sample_type(const struct event *event)
{
	return event->sample_type ? event->sample_type : event->name;
}

uint64_t event_period(const struct event *event, uint64_t requested)
{
	return requested ? requested : event->period;
}

void event_use_full_name(struct event *event)
{
	size_t len = strlen(event->name);

	event->sample_type = NULL;
	if ((event->is_user_only || event->is_kernel_only) && len + 3 <= sizeof event->name)
		memcpy(event->name + len, event->is_user_only ? ":u" : ":k", 3);
}

static bool find_known(const char *name, struct event *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		*ret = known[i];
		return true;
	}
	return false;
}

/* "L1-dcache-loads", "dTLB-store-misses": cache, operation, and hit or miss. */
static bool find_cache(const char *name, struct event *ret)
{
	static const char *const caches[] = { "L1-dcache", "L1-icache", "LLC",  "dTLB",
					      "iTLB",      "branch",    "node", NULL };
	static const char *const ops[] = { "load", "store", "prefetch" };

	for (size_t i = 0; caches[i]; i++) {
		size_t len = strlen(caches[i]);

		if (strncmp(name, caches[i], len) != 0 || name[len] != '-')
			continue;
		for (size_t op = 0; op < ARRAY_LEN(ops); op++) {
			const char *behind = name + len + 1 + strlen(ops[op]);
			bool is_miss;

			if (strncmp(name + len + 1, ops[op], strlen(ops[op])) != 0)
				continue;
			is_miss = strcmp(behind, "-misses") == 0;
			if (!is_miss && strcmp(behind, op == 2 ? "es" : "s") != 0)
				return false;
			*ret = (struct event){ .unit = "count", .type = PERF_TYPE_HW_CACHE };
			ret->config = i | op << 8 | (uint64_t)is_miss << 16;
			return true;
		}
	}
	return false;
}

static bool find_raw(const char *name, struct event *ret)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]) || strlen(name) > 17)
		return false;
	*ret = (struct event){ .unit = "count", .type = PERF_TYPE_RAW };
	ret->config = strtoull(name + 1, &end, 16);
	return *end == '\0';
}

static bool is_file_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-')
			return false;
	return len > 0;
}

/* The folders in path, each with a NUL behind it. */
static void list_folders(const char *path, struct buf *out)
{
	DIR *dir = opendir(path);

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			buf_put(out, entry->d_name, strlen(entry->d_name) + 1);
	if (dir)
		closedir(dir);
}

/* name: GROUP:NAME. Compares NAME with those of GROUP, or GROUP with all groups. */
static int no_tracepoint(const char *name, const char *root, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	CLEANUP(buf_fini) struct buf names = { 0 };
	size_t group = strcspn(name, ":");
	struct nearest near = nearest_start(name + group + 1, strlen(name + group + 1));

	buf_printf(&path, "%s/events/%.*s", root, (int)group, name);
	if (buf_error(&path) == 0)
		list_folders(path.data, &names);
	if (!names.len && buf_error(&path) == 0) {
		near = nearest_start(name, group);
		path.data[path.len - group] = '\0';
		list_folders(path.data, &names);
	}
	if (buf_error(&path) < 0 || buf_error(&names) < 0)
		return err_nomem(e);
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		nearest_add(&near, names.data + at);
	return err_set(e, -EINVAL, "no tracepoint '%s'%s", name, nearest_text(&near, ""));
}

/* GROUP:NAME, by the number in its id file in tracefs. */
static int find_tracepoint(const char *name, const struct event_roots *roots, struct event *ret,
			   struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	CLEANUP(buf_fini) struct buf text = { 0 };
	const char *root = roots->tracing ? roots->tracing : tracefs_path();
	const char *colon = strchr(name, ':');
	int rc;

	if (!is_file_name(name, (size_t)(colon - name)) ||
	    !is_file_name(colon + 1, strlen(colon + 1)))
		return err_set(e, -EINVAL, "no event '%s'", name);
	buf_printf(&path, "%s/events/%.*s/%s/id", root, (int)(colon - name), name, colon + 1);
	if (buf_error(&path) < 0)
		return err_nomem(e);
	rc = file_read_small(path.data, 64, &text, e);
	if (rc == -EACCES || rc == -EPERM)
		return err_set(e, rc,
			       "tracepoint '%s': %s cannot be read; run as root, or allow it with "
			       "'mount -o remount,mode=755 %s'",
			       name, path.data, root);
	buf_clear(&path);
	buf_printf(&path, "%s/events", root);
	if (rc == -ENOENT && file_read_small(path.data, 1, &text, e) == -ENOENT)
		return err_set(e, rc,
			       "tracepoint '%s': no tracing at %s; 'mount -t tracefs tracefs %s'",
			       name, root, root);
	if (rc == -ENOENT)
		return no_tracepoint(name, root, e);
	if (rc < 0)
		return err_wrap(e, "tracepoint '%s'", name);
	*ret = (struct event){ .unit = "count",
			       .type = PERF_TYPE_TRACEPOINT,
			       .config = strtoull(text.data, NULL, 10),
			       .period = 1,
			       .is_tracepoint = true };
	return 0;
}

static int find(const char *name, const struct event_roots *roots, struct event *ret, struct err *e)
{
	struct nearest near = nearest_start(name, strlen(name));

	if (find_known(name, ret) || find_cache(name, ret) || find_raw(name, ret))
		return 0;
	if (strchr(name, '/'))
		return pmu_parse(name, roots->devices, ret, e);
	if (strchr(name, ':'))
		return find_tracepoint(name, roots, ret, e);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		nearest_add(&near, known[i].name);
	if (near.count)
		return err_set(e, -EINVAL, "no event '%s'%s", name, nearest_text(&near, ""));
	return err_set(e, -EINVAL,
		       "no event '%s'; known are cycles, instructions, cache-misses, cpu-clock, "
		       "page-faults, ..., rNNN, GROUP:TRACEPOINT, PMU/TERM=VALUE/ (perf list)",
		       name);
}

/* The text after the last ":" if it has only modifiers, else NULL. */
static const char *find_modifiers(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon == text || !colon[1] || strspn(colon + 1, "ukp") != strlen(colon + 1))
		return NULL;
	return colon + 1;
}

static int apply_modifiers(struct event *event, const char *text, struct err *e)
{
	bool user = strchr(text, 'u'), kernel = strchr(text, 'k');

	for (; *text; text++)
		event->precise += *text == 'p';
	if (event->precise > 3)
		return err_set(e, -EINVAL, "event '%s': at most ppp", event->name);
	event->is_user_only = user && !kernel;
	event->is_kernel_only = kernel && !user;
	return 0;
}

int event_parse(const char *text, const struct event_roots *roots, struct event *ret, struct err *e)
{
	const char *modifiers = find_modifiers(text);
	size_t len = modifiers ? (size_t)(modifiers - 1 - text) : strlen(text);
	char name[sizeof ret->name];
	struct event event = { 0 };
	int rc;

	if (len == 0 || len >= sizeof name)
		return err_set(e, -EINVAL, "no event '%s'", text);
	memcpy(name, text, len);
	name[len] = '\0';
	rc = find(name, roots, &event, e);
	if (rc < 0)
		return rc;
	memcpy(event.name, name, len + 1);
	if (modifiers)
		rc = apply_modifiers(&event, modifiers, e);
	if (rc == 0)
		*ret = event;
	return rc;
}
