/* SPDX-License-Identifier: MIT */
/*
 * offcpu_sums: collects off-CPU times that BPF has already summed by a key for each thread, stack
 * and state.
 *
 * The stack and the times of a key arrive separately and in any order; times arrive more than
 * once. offcpu_sums_finish() adds all of them to the profile, and when they were, in bounded
 * memory: see model/sample_times.h.
 */
#ifndef PERF_OFFCPU_SUMS_H
#define PERF_OFFCPU_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "perf/offcpu_profile.h"

struct offcpu_sum {
	uint32_t labels; /* of the thread */
	uint32_t node;   /* 0: no stack, or not yet */
	uint8_t signals; /* of enum offcpu_signal: the source of the stack; 0: none */
	uint8_t state;   /* enum offcpu_state */
	bool is_cut;     /* the stack lacks its outer end */
	/* [1]: not over at the end of the recording */
	struct offcpu_time {
		uint64_t count, waited_ns, runnable_ns;
	} times[2];
};

/* All zero is empty. */
struct offcpu_sums {
	struct offcpu_sum *sums; /* [count]; owned */
	size_t count, cap;
	struct map by_key;
	struct sample_times times; /* node: in sums; labels: thread number; type: see its source */
};

void offcpu_sums_fini(struct offcpu_sums *s);

/* Of a key, made when it is new. Borrowed until the next one is made; NULL: out of memory. */
struct offcpu_sum *offcpu_sums_get(struct offcpu_sums *s, uint64_t key) MUST_CHECK;

/* When waits were that are a part of the times of this key. 0 or -ENOMEM. */
int offcpu_sums_add_time(struct offcpu_sums *s, uint64_t key, uint32_t tid,
			 const struct offcpu_wait *wait, uint64_t end_ns) MUST_CHECK;

/* Adds all times to the waits. */
void offcpu_sums_finish(const struct offcpu_sums *s, struct offcpu_profile *to);

#endif
