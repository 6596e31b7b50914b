/* SPDX-License-Identifier: MIT */
/*
 * latency: count, sum, minimum, maximum and histogram of call durations.
 *
 * The histogram has LATENCY_SUB slots per power of two, from 16 ns to LATENCY_TOP_NS; values
 * beyond count in the outermost slots. So a quantile is off by at most an eighth of itself. BPF
 * programs (src/bpf) fill the same slots, hence the fixed bounds.
 *
 * All zero is a valid empty one.
 */
#ifndef MODEL_LATENCY_H
#define MODEL_LATENCY_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define LATENCY_SUB_BITS 3
#define LATENCY_SUB (1 << LATENCY_SUB_BITS)
#define LATENCY_LOW_BITS 4   /* below 2^4 ns is one slot */
#define LATENCY_HIGH_BITS 40 /* 2^40 ns are 18 minutes */
#define LATENCY_SLOTS (1 + (LATENCY_HIGH_BITS - LATENCY_LOW_BITS) * LATENCY_SUB)
#define LATENCY_TOP_NS (INT64_C(1) << LATENCY_HIGH_BITS)

struct latency {
	uint64_t count;
	int64_t total_ns, min_ns, max_ns; /* min, max: 0 while empty */
	uint64_t *slots;                  /* [slot_count], from slot first on; owned */
	uint16_t first, slot_count;
};

void latency_fini(struct latency *l);

/* What is negative counts as 0. 0 or -ENOMEM. */
int latency_add(struct latency *l, int64_t ns) MUST_CHECK;
/* The calls of another one, too. */
int latency_merge(struct latency *l, const struct latency *from) MUST_CHECK;
/* So many more calls of one slot; count, total and bounds are the caller's. */
int latency_add_slot(struct latency *l, size_t slot, uint64_t count) MUST_CHECK;

int64_t latency_mean(const struct latency *l);
/* q in [0..1]; within [min..max]; 0 when empty. */
int64_t latency_quantile(const struct latency *l, double q);

/* Calls of at least 2^bits and less than 2^(bits+1) ns. bits: LATENCY_LOW_BITS - 1 (all that is
 * less than that) to LATENCY_HIGH_BITS - 1. */
uint64_t latency_octave(const struct latency *l, unsigned bits);

size_t latency_slot(uint64_t ns);
int64_t latency_slot_start(size_t slot); /* ns; slot <= LATENCY_SLOTS */

#endif
