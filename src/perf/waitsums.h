/* SPDX-License-Identifier: MIT */
/*
 * waitsums: waits that are summed where they happen, by a key for each thread, stack and state.
 *
 * A key's stack and its times come separately, in any order, and its times more than once. In the
 * end all go to the profile.
 */
#ifndef PERF_WAITSUMS_H
#define PERF_WAITSUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "perf/waits.h"

struct waitsum {
	uint32_t labels; /* of the thread */
	uint32_t node;   /* 0: no stack, or not yet */
	uint8_t signals; /* of enum offcpu_signal: what told of the stack; 0: nothing did */
	uint8_t state;   /* enum offcpu_state */
	bool is_cut;     /* the stack lacks its outer end */
	uint64_t count, waited_ns, runnable_ns;
};

/* All zero is empty. */
struct waitsums {
	struct waitsum *sums; /* [count]; owned */
	size_t count, cap;
	struct map by_key;
};

void waitsums_fini(struct waitsums *s);

/* Of a key, made when it is new. Borrowed until the next one is made; NULL: out of memory. */
struct waitsum *waitsums_get(struct waitsums *s, uint64_t key) MUST_CHECK;

/* Adds all times to the waits. */
void waitsums_finish(const struct waitsums *s, struct waits *to);

#endif
