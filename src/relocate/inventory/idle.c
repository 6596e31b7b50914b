/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/idle.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

/* What clock_getcpuclockid() makes, without its check: the id of the scheduler's clock. */
static clockid_t clock_of(pid_t pid)
{
	return (clockid_t)(~(unsigned)pid << 3 | 2);
}

void idle_fini(struct idle *i)
{
	map_fini(&i->known);
	rows_fini(&i->times);
}

int64_t idle_time_ns(pid_t pid)
{
	struct timespec t;

	return clock_gettime(clock_of(pid), &t) < 0 ? -1 : t.tv_sec * NS_PER_S + t.tv_nsec;
}

int idle_note(struct idle *i, pid_t pid, int64_t time_ns)
{
	uint32_t *row = map_at(&i->known, (uint64_t)pid);

	if (!row || (*row == MAP_NONE && !rows_add(&i->times, sizeof time_ns)))
		return -ENOMEM;
	if (*row == MAP_NONE)
		*row = (uint32_t)(i->times.count - 1);
	((int64_t *)i->times.data)[*row] = time_ns;
	return 0;
}

bool idle_is_still(const struct idle *i, pid_t pid)
{
	uint32_t row = map_get(&i->known, (uint64_t)pid);

	return row != MAP_NONE && ((const int64_t *)i->times.data)[row] == idle_time_ns(pid);
}
