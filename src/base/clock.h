/* SPDX-License-Identifier: MIT */
/* clock: int64 nanoseconds of a named clock. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

int64_t clock_mono_ns(void); /* CLOCK_MONOTONIC: for durations, and perf's timestamps */
int64_t clock_wall_ns(void); /* CLOCK_REALTIME: since 1970 */

#endif
