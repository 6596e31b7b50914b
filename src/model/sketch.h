/* SPDX-License-Identifier: MIT */
/*
 * sketch: quantiles of any number of values in bounded memory.
 *
 * Up to SKETCH_EXACT values are stored, and quantiles are exact. More values are counted in
 * buckets of a logarithmic scale, 64 per power of two; then a quantile is off by at most
 * SKETCH_ERROR of itself. Memory: 512 bytes, or 4 bytes for each bucket between the least and the
 * largest value, at most 15 KiB.
 *
 * All zero is a valid empty sketch.
 */
#ifndef MODEL_SKETCH_H
#define MODEL_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define SKETCH_EXACT 64
#define SKETCH_ERROR (1.0 / 128)

struct sketch {
	uint64_t count;   /* values */
	int64_t min, max; /* of them */
	int64_t *exact;   /* [count]; NULL: none yet, or in buckets */
	uint32_t *bucket; /* [bucket_count]: from first on; NULL: not yet */
	size_t first, bucket_count;
};

void sketch_fini(struct sketch *s);

/* What is negative counts as 0. 0 or -ENOMEM. */
int sketch_add(struct sketch *s, int64_t value) MUST_CHECK;

/* The least value that at least the share q of all is not above: q in [0..1]. 0 when empty. */
int64_t sketch_quantile(const struct sketch *s, double q);

#endif
