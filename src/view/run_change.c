/* SPDX-License-Identifier: MIT */
#include "view/run_change.h"

#include <math.h>

double run_mean(const struct run_values *v)
{
	double sum = 0;

	for (size_t i = 0; i < v->count; i++)
		sum += v->values[i];
	return sum / (double)v->count;
}

/* Of single runs; 0 of one run. */
static double variance(const struct run_values *v)
{
	double mean = run_mean(v), squares = 0;

	for (size_t i = 0; i < v->count; i++)
		squares += (v->values[i] - mean) * (v->values[i] - mean);
	return v->count > 1 ? squares / (double)(v->count - 1) : 0;
}

/* The square of the mean's standard error, by Poisson counts. */
static double poisson(const struct run_values *v)
{
	double mean = run_mean(v);

	return v->samples > 0 ? mean * mean / v->samples : 0;
}

/* t: not negative, of so many degrees of freedom. */
static double z_of_t(double t, double freedom)
{
	return (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
}

/* Welch's degrees of freedom, of the squares of the means' standard errors. */
static double freedom_of(const struct run_values *a, double of_a, const struct run_values *b,
			 double of_b)
{
	if (a->count < 2 || b->count < 2)
		return (double)((a->count > b->count ? a->count : b->count) - 1);
	return (of_a + of_b) * (of_a + of_b) /
	       (of_a * of_a / (double)(a->count - 1) + of_b * of_b / (double)(b->count - 1));
}

double run_change_z(const struct run_values *before, const struct run_values *after)
{
	double change = run_mean(after) - run_mean(before);
	double of_before = variance(before), of_after = variance(after);
	double by_samples = poisson(before) + poisson(after), by_runs, z = RUN_CHANGE_MAX_Z;

	if (before->count < 2)
		of_before = of_after;
	if (after->count < 2)
		of_after = of_before;
	of_before /= (double)before->count;
	of_after /= (double)after->count;
	by_runs = of_before + of_after;
	if (change == 0)
		return 0;
	if (by_samples > 0)
		z = fmin(z, fabs(change) / sqrt(by_samples));
	if (by_runs > 0)
		z = fmin(z, z_of_t(fabs(change) / sqrt(by_runs),
				   freedom_of(before, of_before, after, of_after)));
	return copysign(z, change);
}
