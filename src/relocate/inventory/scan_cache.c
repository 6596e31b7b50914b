/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/scan_cache.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

/* The clock id that clock_getcpuclockid(3) returns, without its check of pid. */
static clockid_t clock_of(pid_t pid)
{
	return (clockid_t)(~(unsigned)pid << 3 | 2);
}

void scan_cache_fini(struct scan_cache *c)
{
	map_fini(&c->known);
	rows_fini(&c->cpu_ns);
}

int64_t scan_cache_cpu_ns(pid_t pid)
{
	struct timespec t;

	return clock_gettime(clock_of(pid), &t) < 0 ? -1 : t.tv_sec * NS_PER_S + t.tv_nsec;
}

int scan_cache_add(struct scan_cache *c, pid_t pid, int64_t time_ns)
{
	uint32_t *row = map_at(&c->known, (uint64_t)pid);

	if (!row || (*row == MAP_NONE && !rows_add(&c->cpu_ns, sizeof time_ns)))
		return -ENOMEM;
	if (*row == MAP_NONE)
		*row = (uint32_t)(c->cpu_ns.count - 1);
	((int64_t *)c->cpu_ns.data)[*row] = time_ns;
	return 0;
}

bool scan_cache_is_valid(const struct scan_cache *c, pid_t pid)
{
	uint32_t row = map_get(&c->known, (uint64_t)pid);

	return row != MAP_NONE && ((const int64_t *)c->cpu_ns.data)[row] == scan_cache_cpu_ns(pid);
}
