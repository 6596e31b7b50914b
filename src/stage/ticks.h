/* SPDX-License-Identifier: MIT */
/*
 * ticks: the cheapest reliable clock of this machine.
 *
 * The TSC where it is the kernel's own clock source, else CLOCK_MONOTONIC. Reports convert ticks to
 * nanoseconds by the ratio of both clocks since the start.
 */
#ifndef STAGE_TICKS_H
#define STAGE_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Set by ticks_start(), before the first profiler. */
extern bool ticks_are_tsc;

void ticks_start(void);

/* Nanoseconds in a tick, measured since ticks_start(). An early call waits a moment, for an error
 * of at most 0.1 %. */
double ticks_ns(void);

const char *ticks_clock(void); /* "tsc" or "monotonic" */

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	if (ticks_are_tsc)
		return __rdtsc();
#endif
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
