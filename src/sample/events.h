/* SPDX-License-Identifier: MIT */
/*
 * events: parses names of events that can be sampled.
 *
 * Names: those of hardware and software events that perf(1) uses ("cycles", "page-faults",
 * "LLC-load-misses"), rNNN (raw, hexadecimal), GROUP:NAME (tracepoint), PMU/TERM=VALUE,.../;
 * followed by ":" and any of u (user only), k (kernel only), p (precise; up to ppp).
 * Source: perf_event_open(2); kernel Documentation/ABI/testing/sysfs-bus-event_source-devices*.
 */
#ifndef SAMPLE_EVENTS_H
#define SAMPLE_EVENTS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "sample/event.h"

/* Folders of the kernel that describe events. */
struct event_roots {
	const char *devices; /* NULL: "/sys/bus/event_source/devices" */
	const char *tracing; /* NULL: that of tracefs.h */
};

/* -EINVAL: unknown event. An unreadable file of the kernel: its errno, with the remedy in e. */
int event_parse(const char *text, const struct event_roots *roots, struct event *ret,
		struct err *e) MUST_CHECK;

/* The default, CPU cycles, and its substitute on machines without the counter. */
extern const struct event event_cycles, event_cpu_clock;

/* The name of the event's values in a profile. */
const char *event_sample_type(const struct event *event);

/* The period in events; requested 0: the default of the event. Returns 0 for a frequency. */
uint64_t event_period(const struct event *event, uint64_t requested);

/* Makes the event's name its sample type, with ":u" or ":k" when it is restricted. */
void event_use_full_name(struct event *event);

#endif
