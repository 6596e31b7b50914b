/* SPDX-License-Identifier: MIT */
/*
 * decimal: a decimal number with up to six places, such as a count or seconds, parsed from text;
 * and its range over many ranks.
 *
 * Sums are exact, without floating point. A sum that exceeds 64 bits stays at INT64_MAX.
 */
#ifndef CACHEFS_PROFILE_DECIMAL_H
#define CACHEFS_PROFILE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define DECIMAL_MAX ((int64_t)1000000000000000) /* of one text; no counter exceeds it */

struct decimal {
	int64_t integer; /* >= 0 */
	int32_t micros;  /* [0..1000000) */
	bool has_point;  /* the text had one */
};

/* "12", "0.250000"; further places are cut. -EINVAL: no such number, or over DECIMAL_MAX. */
int decimal_parse(struct decimal *ret, const char *text, size_t len, struct err *e) MUST_CHECK;
double decimal_real(struct decimal f);
bool decimal_is_zero(struct decimal f);

void decimal_add(struct decimal *sum, struct decimal f);
int decimal_compare(struct decimal a, struct decimal b); /* as memcmp */

/* With six places if any summand had a point. */
void decimal_put(struct buf *out, struct decimal f);

/* A number over ranks. All zero: empty. */
struct range {
	struct decimal sum, min, max;
	size_t ranks; /* that were added */
	uint32_t min_rank, max_rank;
};

void range_add(struct range *r, uint32_t rank, struct decimal f);
/* Adds zeros until it has this number of ranks; rank is one of those with 0. */
void range_fill(struct range *r, size_t ranks, uint32_t rank);
double range_mean(const struct range *r);      /* 0 without ranks */
double range_imbalance(const struct range *r); /* maximum / mean, 1 is even; 0: the mean is 0 */

#endif
