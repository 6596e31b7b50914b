/* SPDX-License-Identifier: MIT */
/* diff: combines one sample type of two profiles, or of several runs a side, into one profile, for
 * views that compare them. */
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

#define DIFF_MAX_RUNS 24 /* a side */

/* The runs of a side. */
struct diff_side {
	const struct profile *const *runs; /* [count] */
	size_t count;
};

/*
 * The same of several runs: the sums of each side, then, if there are more than two runs, a sample
 * type for each: those before, those after.
 */
int profile_diff_runs(const struct diff_side *before, const struct diff_side *after,
		      const char *type, const char *unit, struct profile **ret,
		      struct err *e) MUST_CHECK;

/* The sample type of a run, counted from 0 over both sides; of two runs that of its side. */
size_t profile_diff_run_type(const struct profile *diff, size_t run);

/* Has a difference counts of samples? */
bool profile_diff_has_samples(const struct profile *diff);

#endif
