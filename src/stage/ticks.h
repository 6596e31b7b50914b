/* SPDX-License-Identifier: MIT */
/*
 * ticks: the cheapest clock that is right here.
 *
 * The processor's counter where the kernel itself keeps time by it, else CLOCK_MONOTONIC. Ticks
 * become nanoseconds when a report is made, by the ratio of both clocks since the start.
 */
#ifndef STAGE_TICKS_H
#define STAGE_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Set by ticks_start(), before there is a profiler. */
extern bool ticks_are_tsc;

void ticks_start(void);

/* Nanoseconds in a tick, by what went by since ticks_start(). At first it waits for a moment, to
 * be right to a thousandth. */
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
