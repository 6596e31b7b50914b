/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

#define SMALL_FILE 65536

/* UINT64_MAX: "max", or there is no such file. */
static uint64_t read_limit(const char *path)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e = { 0 };
	char *end;
	uint64_t limit;

	if (file_read_small(path, SMALL_FILE, &text, &e) < 0 || !text.len)
		return UINT64_MAX;
	limit = strtoull(text.data, &end, 10);
	return end == text.data ? UINT64_MAX : limit;
}

/* The smallest limit of the group and of all groups above it. */
static uint64_t smallest(const char *root, const char *group, const char *file)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	uint64_t limit = UINT64_MAX;
	size_t len = strlen(group);

	for (;;) {
		uint64_t one;

		buf_clear(&path);
		buf_printf(&path, "%s%.*s/%s", root, (int)len, group, file);
		if (buf_error(&path) < 0)
			return limit;
		one = read_limit(path.data);
		limit = one < limit ? one : limit;
		if (!len)
			return limit;
		do
			len--;
		while (len && group[len] != '/');
	}
}

/* Lines are "0::/path" (v2) or "5:cpu,memory:/path" (v1). */
static uint64_t cgroup_limit(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e = { 0 };
	uint64_t limit = UINT64_MAX;

	if (file_read_small("/proc/self/cgroup", SMALL_FILE, &text, &e) < 0 || !text.len)
		return limit;
	for (char *line = text.data, *next; line && *line; line = next) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		uint64_t one = UINT64_MAX;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!path)
			continue;
		*path++ = '\0';
		if (names[1] == '\0')
			one = smallest("/sys/fs/cgroup", path, "memory.max");
		else if (strstr(names + 1, "memory"))
			one = smallest("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
		limit = one < limit ? one : limit;
	}
	return limit;
}

/* RLIMIT_AS, which some schedulers set instead of a cgroup limit. */
static uint64_t process_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

void memory_limit_arenas(void)
{
	if (process_limit() != UINT64_MAX)
		mallopt(M_ARENA_MAX, 1);
}

uint64_t memory_limit(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
	uint64_t group = cgroup_limit(), process = process_limit();
	uint64_t limit = group < machine ? group : machine;

	return process < limit ? process : limit;
}
