/* SPDX-License-Identifier: MIT */
/*
 * costs: the quantities that are read at each begin and end of a stage.
 *
 * All are running totals: the cost of a call is the difference of two readings, and calls, threads
 * and children add up. They form groups, and a profiler reads whole groups.
 */
#ifndef STAGE_COSTS_H
#define STAGE_COSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "stage/macros.h"

enum cost {
	/* always */
	COST_WALL, /* ticks */
	/*
	 * thread: its time off the CPU, the wall clock minus its CPU clock. Constant while the
	 * thread runs. Ticks minus nanoseconds.
	 */
	COST_MIGRATED, /* ticks of calls that ended in another thread: CPU time unknown */
	COST_WAIT_TICKS,
	COST_WAIT_NS,
	/* heap: with libauger-count.so */
	COST_HEAP,        /* bytes of the process */
	COST_ALLOCS,      /* of the thread, like the next */
	COST_ALLOC_BYTES, /* of allocated blocks */
	/* source: of the caller */
	COST_SOURCE, /* bytes */
	/* process: level full */
	COST_CPU_US,
	COST_RSS_KB,
	COST_MINOR_FAULTS,
	COST_MAJOR_FAULTS,
	COST_SWITCHES,
	COST_READ_BYTES,
	COST_WRITE_BYTES,
	COST_COUNT,
};

#define COSTS_THREAD COST_MIGRATED
#define COSTS_HEAP COST_HEAP
#define COSTS_SOURCE COST_SOURCE
#define COSTS_PROCESS COST_CPU_US

/* Sets of groups: that are read, or that are not all zero. */
enum {
	GROUP_WALL = 1,   /* always */
	GROUP_THREAD = 2, /* CPU of the thread */
	GROUP_HEAP = 4,
	GROUP_SOURCE = 8,
	GROUP_PROCESS = 16,
	GROUPS_RARE = GROUP_SOURCE | GROUP_PROCESS,
};

/* A whole group at once: constant bounds let the compiler unroll these loops. */
static inline void costs_set_range(int64_t *to, const int64_t *from, int first, int end)
{
#pragma GCC unroll 8
	for (int i = first; i < end; i++)
		STORE_RELEASE(to[i], from[i]);
}

static inline void costs_add_range(int64_t *to, const int64_t *more, int first, int end)
{
#pragma GCC unroll 8
	for (int i = first; i < end; i++)
		STORE_RELEASE(to[i], to[i] + more[i]);
}

static inline void costs_subtract_range(int64_t *to, const int64_t *a, const int64_t *b, int first,
					int end)
{
#pragma GCC unroll 8
	for (int i = first; i < end; i++)
		to[i] = a[i] - b[i];
}

static inline void costs_clear_range(int64_t *to, int first, int end)
{
#pragma GCC unroll 8
	for (int i = first; i < end; i++)
		STORE_RELEASE(to[i], 0);
}

static inline void costs_clear(uint32_t groups, int64_t *to)
{
	if (groups & GROUP_WALL)
		costs_clear_range(to, COST_WALL, COSTS_THREAD);
	if (groups & GROUP_THREAD)
		costs_clear_range(to, COSTS_THREAD, COSTS_HEAP);
	if (groups & GROUP_HEAP)
		costs_clear_range(to, COSTS_HEAP, COSTS_SOURCE);
	if (groups & GROUP_SOURCE)
		costs_clear_range(to, COSTS_SOURCE, COSTS_PROCESS);
	if (groups & GROUP_PROCESS)
		costs_clear_range(to, COSTS_PROCESS, COST_COUNT);
}

/* For the groups that are read: to[i] = from[i]. */
static inline void costs_set(uint32_t groups, int64_t *to, const int64_t *from)
{
	costs_set_range(to, from, COST_WALL, COSTS_THREAD);
	if (groups & GROUP_THREAD)
		costs_set_range(to, from, COSTS_THREAD, COSTS_HEAP);
	if (groups & GROUP_HEAP)
		costs_set_range(to, from, COSTS_HEAP, COSTS_SOURCE);
	if (LIKELY(!(groups & GROUPS_RARE)))
		return;
	if (groups & GROUP_SOURCE)
		costs_set_range(to, from, COSTS_SOURCE, COSTS_PROCESS);
	if (groups & GROUP_PROCESS)
		costs_set_range(to, from, COSTS_PROCESS, COST_COUNT);
}

/* For the groups that are read: to[i] += more[i]. */
static inline void costs_add(uint32_t groups, int64_t *to, const int64_t *more)
{
	costs_add_range(to, more, COST_WALL, COSTS_THREAD);
	if (LIKELY(groups == GROUP_WALL))
		return;
	if (groups & GROUP_THREAD)
		costs_add_range(to, more, COSTS_THREAD, COSTS_HEAP);
	if (groups & GROUP_HEAP)
		costs_add_range(to, more, COSTS_HEAP, COSTS_SOURCE);
	if (groups & GROUP_SOURCE)
		costs_add_range(to, more, COSTS_SOURCE, COSTS_PROCESS);
	if (groups & GROUP_PROCESS)
		costs_add_range(to, more, COSTS_PROCESS, COST_COUNT);
}

#endif
