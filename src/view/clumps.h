/* SPDX-License-Identifier: MIT */
/*
 * clumps: how much more the samples of a function vary than independent ones would.
 *
 * A program does not draw its functions at random: it stays in one for a while, and waits for
 * others. So their samples come in clumps, and a sum of them varies more than a Poisson count. By
 * how much, the recording itself says, where the profile has the times of its samples: neighbouring
 * slots of a thread, of a second or a tenth of the recording, differ by twice the variance of one.
 * Unlike the spread of all slots this is not widened by phases of the program.
 *
 * Source: von Neumann, Kent, Bellinson, Hart, The mean square successive difference, Annals of
 * Mathematical Statistics 12 (1941).
 */
#ifndef VIEW_CLUMPS_H
#define VIEW_CLUMPS_H

#include "base/err.h"
#include "base/macros.h"
#include "view/flat.h"

/*
 * f: of the profile. *ret: [f->row_count], the caller's: the variance of each row's sum in
 * multiples of Poisson's, at least 1; NULL where the profile has no times or too few slots.
 * per_sample: what a sample is worth in this sample type.
 */
int clumps_measure(const struct flat *f, size_t type, double per_sample, bool has_totals,
		   double **ret, struct err *e) MUST_CHECK;

#endif
