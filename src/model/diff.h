/* SPDX-License-Identifier: MIT */
/* diff: combines one sample type of two profiles into one profile, for views that compare them. */
#ifndef MODEL_DIFF_H
#define MODEL_DIFF_H

#include "base/err.h"
#include "model/profile.h"

/* The sample types of a difference, by index. */
enum diff_type {
	DIFF_BEFORE, /* "before", in the unit of the type compared */
	DIFF_AFTER,
	/* "before_samples/count"; only when the type is sampled (it is "samples", or what the
	 * period counts) and both profiles count samples. */
	DIFF_BEFORE_SAMPLES,
	DIFF_AFTER_SAMPLES,
};

/*
 * type, unit: what is compared, e.g. "cpu", "nanoseconds". -EINVAL when one of the two has no
 * such type. Equal stacks with equal labels are one sample with a value of each side. *ret is
 * the caller's.
 */
int profile_diff(const struct profile *before, const struct profile *after, const char *type,
		 const char *unit, struct profile **ret, struct err *e) MUST_CHECK;

/* Has a difference counts of samples? */
bool profile_diff_has_samples(const struct profile *diff);

#endif
