/* SPDX-License-Identifier: MIT */
/* spin: CPU time of a known amount, for workloads that print their own truth. */
#ifndef LIVE_SPIN_H
#define LIVE_SPIN_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef __clang__ /* has no clones */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* CPU time of the calling thread, nanoseconds. */
static inline int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Until the thread has used so much more CPU time. Returns how much it was. Part of the
 * caller: the time is the caller's own. */
static inline __attribute__((always_inline)) int64_t spin(int64_t ns)
{
	int64_t start = cpu_ns(), now = start;

	while (now - start < ns) {
		for (volatile unsigned i = 0; i < 100000; i++) /* some 100 microseconds */
			;
		now = cpu_ns();
	}
	return now - start;
}

#endif
