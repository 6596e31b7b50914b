/* SPDX-License-Identifier: MIT */
/*
 * compare: the changes from one profile to another, as rows.
 *
 * A change is significant by the numbers of samples on both sides, taken as Poisson counts: z = 2
 * (sqrt(a + 3/8) - sqrt(r (b + 3/8))) / sqrt(1 + r). b and a are the samples before and after, and
 * r is the expected number of samples after for one before. Equal costs give a z of the standard
 * normal distribution; |z| of COMPARE_Z or more (3 of 1000 such cases) is called significant.
 *
 * Where a profile has the times of its samples, z is divided by what clumps of them vary more than
 * single ones: clumps.h.
 * Of several runs a side the values are means of a run, and their spread decides: run_change.h.
 *
 * Source of the test: Gu, Ng, Tang, Schucany: Testing the ratio of two Poisson rates, Biometrical
 * Journal 50 (2008), the statistic W5.
 */
#ifndef VIEW_COMPARE_H
#define VIEW_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/diff.h"
#include "view/emit.h"
#include "view/report.h"
#include "view/tree.h"

#define COMPARE_Z 3.0

enum compare_order { COMPARE_BY_CHANGE, COMPARE_BY_BEFORE, COMPARE_BY_AFTER, COMPARE_BY_NAME };

struct compare_side {
	const char *file;              /* as the user named it; of several runs: all names */
	struct report_facts facts;     /* sums of all runs, as is: */
	int64_t duration_ns;           /* 0: unknown */
	size_t runs;                   /* at least 1 */
	const struct profile *profile; /* of the only run; its times tell of clumps.h */
	size_t profile_type;           /* the sample type in it */
	double factors[DIFF_MAX_RUNS]; /* [runs]: of their values; of the only run after: 1 */
};

struct compare_opts {
	struct compare_side before, after;
	const char *type;       /* name of what is compared */
	const char *filter;     /* as the user gave it; NULL: none */
	const char *normalized; /* what by, in words; NULL: not */
	bool has_totals;        /* of functions with what they call; else of their own */
	enum frame_by by;
	const char *label; /* key of the label to group by; NULL: frames */
	enum compare_order order;
	size_t limit; /* rows; 0: all */
};

/* diff: of profile_diff(), or profile_diff_runs() with these runs. Puts a head and rows into an
 * emitter that has begun. */
int compare_put(struct emit *out, const struct profile *diff, const struct compare_opts *o,
		struct err *e) MUST_CHECK;

/* samples before and after; ratio: r above, more than 0. */
double compare_z(int64_t before, int64_t after, double ratio);

#endif
