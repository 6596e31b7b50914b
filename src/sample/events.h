/* SPDX-License-Identifier: MIT */
/*
 * events: what can be sampled, by name.
 *
 * Names: those of hardware and software events that perf(1) uses ("cycles", "page-faults",
 * "LLC-load-misses"), rNNN (raw, hexadecimal), GROUP:NAME (tracepoint), PMU/TERM=VALUE,.../;
 * behind it ":" and any of u (user only), k (kernel only), p (precise; up to ppp).
 * Source: perf_event_open(2); kernel Documentation/ABI/testing/sysfs-bus-event_source-devices*.
 */
#ifndef SAMPLE_EVENTS_H
#define SAMPLE_EVENTS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "sample/event.h"

/* Where the kernel tells of its events. */
struct event_roots {
	const char *devices; /* NULL: "/sys/bus/event_source/devices" */
	const char *tracing; /* NULL: that of tracefs.h */
};

/* Unknown: -EINVAL; the kernel's files cannot be read: their errno and the remedy. */
int event_parse(const char *text, const struct event_roots *roots, struct event *ret,
		struct err *e) MUST_CHECK;

/* The default: CPU cycles, and what stands in for them on machines that cannot count. */
extern const struct event event_cycles, event_cpu_clock;

/* The name of the event's values in a profile. */
const char *event_sample_type(const struct event *event);

/* A sample each so many, where asked (0: nothing) was asked for; 0: at a frequency. */
uint64_t event_period(const struct event *event, uint64_t asked);

/* From now on its values have the event's name, with ":u" or ":k" when it is restricted. */
void event_use_full_name(struct event *event);

#endif
