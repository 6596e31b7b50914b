/* SPDX-License-Identifier: MIT */
/*
 * offcpu_profile: adds the off-CPU times of all threads to a profile, by stack and state.
 *
 * The sample type is offcpu/nanoseconds; the label "state" is one of offcpu_state_names. Of a wait
 * that began before the recording or is unfinished at its end, the part within it counts, and the
 * label "wait" is "began before", "unfinished" or "began before, unfinished". A wait
 * without a stack gets a frame with the reason: "[lost stack]" (the record was lost), "[waiting
 * since before]" (the thread waited when the recording began), "[new thread]" (it had not run
 * yet), "[no stack]" (permission denied).
 */
#ifndef PERF_OFFCPU_PROFILE_H
#define PERF_OFFCPU_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "model/profile.h"
#include "perf/offcpu.h"

struct offcpu_counts {
	uint64_t waits;
	uint64_t lost;               /* whose start or end has no record */
	uint64_t cut;                /* with a truncated stack */
	uint64_t before, unfinished; /* began before the recording; not over at its end */
	uint64_t ns[OFFCPU_STATES];
};

/* All zero is not ready. */
struct offcpu_profile {
	struct profile *profile;
	size_t type;            /* index of the sample type */
	uint32_t key, span_key; /* string ids of "state" and "wait" */
	struct map labels;      /* of (label set, state and span): with both */
	bool has_times; /* waits are added to the profile's times, too, if these are known */
	struct offcpu_counts counts;
};

void offcpu_profile_init(struct offcpu_profile *w, struct profile *p); /* adds the sample type */
void offcpu_profile_fini(struct offcpu_profile *w);

/* count: of waits; of more than one the times are their sums. node: the stack, 0: none. labels: of
 * the thread. Failure is the profile's. */
void offcpu_profile_add(struct offcpu_profile *w, const struct offcpu_wait *wait, uint64_t count,
			uint32_t node, uint32_t labels);

/* When waits were that offcpu_profile_add() adds or added: their end. */
void offcpu_profile_add_time(struct offcpu_profile *w, const struct offcpu_wait *wait,
			     uint32_t node, uint32_t labels, uint64_t end_ns);

#endif
