/* SPDX-License-Identifier: MIT */
#include "cli/top/memory.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "target/proc.h"

static uint64_t half_of(const struct rlimit *limit)
{
	return limit->rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit->rlim_cur / 2;
}

uint64_t top_memory_max(void)
{
	struct rlimit limit;
	uint64_t max = TOP_MEMORY_MAX;

	if (getrlimit(RLIMIT_DATA, &limit) == 0 && half_of(&limit) < max)
		max = half_of(&limit);
	if (getrlimit(RLIMIT_AS, &limit) == 0 && half_of(&limit) < max)
		max = half_of(&limit);
	return max;
}

uint64_t top_memory_used(void)
{
	uint64_t kib = proc_status_number(getpid(), "RssAnon", 10, 0) +
		       proc_status_number(getpid(), "VmSwap", 10, 0);

	return kib * 1024;
}

void top_memory_trim(void)
{
	malloc_trim(0);
}
