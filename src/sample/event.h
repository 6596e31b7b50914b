/* SPDX-License-Identifier: MIT */
/* event: one event that can be sampled, as perf_event_open(2) names it. */
#ifndef SAMPLE_EVENT_H
#define SAMPLE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct event {
	char name[128];                 /* as requested, without modifiers after the last ":" */
	const char *sample_type, *unit; /* of its values; sample_type NULL: name */
	uint32_t type;                  /* PERF_TYPE_, or the type of a PMU */
	uint64_t config, config1, config2;
	bool is_clock;   /* the period is in nanoseconds, also at a frequency */
	uint64_t period; /* default period in events; 0: sample at a frequency */
	bool is_tracepoint;
	bool has_address; /* samples have the data address (PERF_SAMPLE_ADDR) */
	bool is_user_only, is_kernel_only;
	unsigned precise; /* 0..3: perf_event_attr.precise_ip */
};

#endif
