/* SPDX-License-Identifier: MIT */
/*
 * akaros_period: computes the sampling period from the times of all samples.
 *
 * It is the median of the intervals between samples of one core. Three kinds of intervals do not
 * count: negative ones (blocks of a trace are unordered), zero (clocks of 1 ms), and pauses of
 * more than a minute. If most intervals are zero, it is the mean of the intervals without jumps.
 */
#ifndef FORMAT_AKAROS_PERIOD_H
#define FORMAT_AKAROS_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"

/* All zero is empty. */
struct akaros_periods {
	struct map by_core;   /* index of cores */
	struct rows cores;    /* struct core */
	uint64_t first, last; /* times of all samples, 0: none had one */
	int64_t middle;       /* once settled: of what is known of no core */
	bool is_common;       /* middle is of all cores */
};

void akaros_periods_fini(struct akaros_periods *p);

/* The samples of a core as they come. ns 0: unknown. 0 or -ENOMEM. */
int akaros_periods_add(struct akaros_periods *p, uint32_t core, uint64_t ns) MUST_CHECK;

void akaros_periods_finish(struct akaros_periods *p);

/* Nanoseconds, of a core; never 0. */
int64_t akaros_periods_get(const struct akaros_periods *p, uint32_t core);

#endif
