/* SPDX-License-Identifier: MIT */
/*
 * run_change: is a change of means beyond what runs of the same program differ by?
 *
 * Welch's test: t is the change divided by the standard error that the spread of the runs gives,
 * and z has the same probability in the normal distribution. Where a side has one run, its spread
 * is taken to be the other's. z is at most that of Poisson counts of as many samples: two runs may
 * be equal by chance.
 *
 * Source of z: Wallace, Bounds on normal approximations to Student's and the chi-square
 * distributions, Annals of Mathematical Statistics 30 (1959).
 */
#ifndef VIEW_RUN_CHANGE_H
#define VIEW_RUN_CHANGE_H

#include <stddef.h>

/* Runs of a side. */
struct run_values {
	const double *values; /* [count] */
	size_t count;
	double samples; /* of all; 0: not counted */
};

double run_mean(const struct run_values *v);
/* One side has two runs or more. At most RUN_CHANGE_MAX_Z of either sign. */
#define RUN_CHANGE_MAX_Z 99.99
double run_change_z(const struct run_values *before, const struct run_values *after);

#endif
