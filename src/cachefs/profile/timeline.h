/* SPDX-License-Identifier: MIT */
/* timeline: the sums of each interval, in bounded memory: when it is full, it merges pairs. */
#ifndef CACHEFS_PROFILE_TIMELINE_H
#define CACHEFS_PROFILE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "cachefs/profile/metrics.h"

#define TIMELINE_STEPS 512
#define TIMELINE_FIRST_NS (INT64_C(1000000000) / 4)

struct timeline_step {
	int64_t start_ns, end_ns;    /* since the start of the line */
	uint64_t sums[METRICS_SUMS]; /* of all operations, in this step */
};

/* All zero is a valid empty one. */
struct timeline {
	struct timeline_step steps[TIMELINE_STEPS]; /* [count] */
	size_t count;
	uint64_t sums[METRICS_SUMS]; /* at the end of the last step */
	int64_t step_ns;             /* the length of a step; 0: TIMELINE_FIRST_NS */
};

/* Adds a step that ends now. sums: since the start or the last reset. */
void timeline_add(struct timeline *t, int64_t now_ns, const uint64_t sums[METRICS_SUMS]);

/* When the next step ends, since the start of the line. */
int64_t timeline_next_ns(const struct timeline *t);

#endif
