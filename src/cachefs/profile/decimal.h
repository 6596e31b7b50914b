/* SPDX-License-Identifier: MIT */
/*
 * figure: a count, or seconds to the microsecond, as text has them, and what many of them come to.
 *
 * Sums are exact: no floating point. A sum that leaves 64 bits stays at the greatest number.
 */
#ifndef CACHEFS_PROFILE_DECIMAL_H
#define CACHEFS_PROFILE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define DECIMAL_MAX ((int64_t)1000000000000000) /* of one text: no counter comes to more */

struct decimal {
	int64_t integer; /* >= 0 */
	int32_t micros;  /* [0..1000000) */
	bool has_point;  /* the text has a point */
};

/* "12", "0.250000"; more than six decimals are cut. -EINVAL: not that, or over DECIMAL_MAX. */
int decimal_parse(struct decimal *ret, const char *text, size_t len, struct err *e) MUST_CHECK;
double decimal_real(struct decimal f);
bool decimal_is_zero(struct decimal f);

void decimal_add(struct decimal *sum, struct decimal f);
int decimal_compare(struct decimal a, struct decimal b); /* as memcmp */

/* The whole number, or with six decimals if any text had some. */
void decimal_put(struct buf *out, struct decimal f);

/* A figure over ranks. All zero: none yet. */
struct range {
	struct decimal sum, min, max;
	size_t ranks; /* that told */
	uint32_t min_rank, max_rank;
};

void range_add(struct range *r, uint32_t rank, struct decimal f);
/* As many ranks as lack to make it ranks tell 0; rank is one of them. */
void range_fill(struct range *r, size_t ranks, uint32_t rank);
double range_mean(const struct range *r);      /* 0 without ranks */
double range_imbalance(const struct range *r); /* greatest by mean: 1 is even; 0: mean is 0 */

#endif
