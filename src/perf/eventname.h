/* SPDX-License-Identifier: MIT */
/* eventname: derives the kind of an event from its name as perf writes it. */
#ifndef PERF_EVENTNAME_H
#define PERF_EVENTNAME_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the name without its modifiers: "cycles" of "cycles:ppp", "cpu/x/" of
 * "cpu/x/u"; "sched:sched_switch" has none. */
size_t eventname_base(const char *name, size_t len);

/* Its periods are nanoseconds of CPU time. */
bool eventname_is_clock(const char *name, size_t len);

/* "group:name": each hit is a sample and counts once. */
bool eventname_is_tracepoint(const char *name, size_t len);

#endif
