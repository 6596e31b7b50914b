/* SPDX-License-Identifier: MIT */
#include "model/scale.h"

static double cpu_time(const struct scale_step *s)
{
	return (double)s->metrics[SCALE_USER] + (double)s->metrics[SCALE_SYSTEM];
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

double scale_efficiency(const struct scale *s, const struct scale_step *step)
{
	return ratio((double)s->steps[0].metrics[SCALE_WALL], (double)step->metrics[SCALE_WALL]);
}

double scale_sharing(const struct scale *s, const struct scale_step *step)
{
	double n = (double)step->copies * 1000 / (double)s->cpus;

	return n > 1 ? n : 1;
}

double scale_adjusted_efficiency(const struct scale *s, const struct scale_step *step)
{
	return scale_efficiency(s, step) * scale_sharing(s, step) / scale_sharing(s, &s->steps[0]);
}

double scale_cpu_efficiency(const struct scale *s, const struct scale_step *step)
{
	return ratio(cpu_time(&s->steps[0]), cpu_time(step));
}
