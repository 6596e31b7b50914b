/* SPDX-License-Identifier: MIT */
/*
 * costs: what is read at each boundary of a stage. All are running totals, so the cost of a call
 * is the difference of two readings, and calls, threads and children add up.
 *
 * They stand in groups, and a profiler reads whole groups.
 */
#ifndef STAGE_COSTS_H
#define STAGE_COSTS_H

#include <stdbool.h>

enum cost {
	/* always */
	COST_WALL, /* ticks */
	/* of calls that ran in one thread whose CPU is known; else 0 */
	COST_THREAD_WALL,  /* ticks */
	COST_THREAD_NS,    /* CPU of the thread: this many nanoseconds ... */
	COST_THREAD_TICKS, /* ... and ticks */
	/* heap: with libauger-count.so */
	COST_HEAP,        /* bytes of the process */
	COST_ALLOCS,      /* of the thread, like the next two */
	COST_FREES,       /* blocks */
	COST_ALLOC_BYTES, /* of blocks made */
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

#define COSTS_HEAP COST_HEAP
#define COSTS_SOURCE COST_SOURCE
#define COSTS_PROCESS COST_CPU_US

/* Which groups are read. */
struct cost_groups {
	bool thread; /* CPU of the thread */
	bool heap;
	bool source;
	bool process;
};

#endif
