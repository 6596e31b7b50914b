/* SPDX-License-Identifier: MIT */
#include "model/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int stat_series_add(struct stat_series *s, const struct stat_metric *metrics, size_t count,
		    struct err *e)
{
	struct stat_metric *runs = reallocarray(s->runs, (s->run_count + 1) * count, sizeof *runs);

	if (!runs)
		return err_nomem(e);
	s->runs = runs;
	memcpy(runs + s->run_count * count, metrics, count * sizeof *metrics);
	memcpy(s->last, metrics, count * sizeof *metrics);
	s->metric_count = count;
	s->run_count++;
	return 0;
}

void stat_series_fini(struct stat_series *s)
{
	free(s->runs);
	s->runs = NULL;
	s->run_count = 0;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The values of a metric, in ascending order; the caller's. */
static int sorted_values(const struct stat_series *s, size_t metric, int64_t **ret, bool *ret_has,
			 struct err *e)
{
	int64_t *values = reallocarray(NULL, s->run_count, sizeof *values);

	if (!values)
		return err_nomem(e);
	*ret_has = true;
	for (size_t i = 0; i < s->run_count; i++) {
		const struct stat_metric *f = &s->runs[i * s->metric_count + metric];

		*ret_has &= f->has_value;
		values[i] = f->value;
	}
	qsort(values, s->run_count, sizeof *values, compare);
	*ret = values;
	return 0;
}

static int64_t median_of(const int64_t *sorted, size_t count)
{
	int64_t below = sorted[(count - 1) / 2];

	return below + (sorted[count / 2] - below) / 2;
}

int stat_summarize(const struct stat_series *s, size_t metric, struct stat_summary *ret,
		   struct err *e)
{
	int64_t *values;
	bool has_value;

	if (sorted_values(s, metric, &values, &has_value, e) < 0)
		return e->code;
	*ret = (struct stat_summary){ .has_value = has_value,
				      .median = median_of(values, s->run_count),
				      .least = values[0],
				      .most = values[s->run_count - 1] };
	free(values);
	return 0;
}

#define OUTLIER_SCORE 3.5
#define SIGMA_OF_NORMAL 0.6745 /* the median distance of a normal distribution, in sigmas */

static void sum_up(const int64_t *values, struct stat_spread *ret)
{
	double squares = 0;

	for (size_t i = 0; i < ret->count; i++)
		ret->mean += (double)values[i] / (double)ret->count;
	for (size_t i = 0; i < ret->count; i++)
		squares += ((double)values[i] - ret->mean) * ((double)values[i] - ret->mean);
	if (ret->count > 1)
		ret->sigma = sqrt(squares / (double)(ret->count - 1));
}

/* values: sorted; become their distances from the median. */
static void find_outliers(int64_t *values, int64_t first, struct stat_spread *ret)
{
	int64_t median = median_of(values, ret->count);
	double most;

	for (size_t i = 0; i < ret->count; i++)
		values[i] = llabs(values[i] - median);
	qsort(values, ret->count, sizeof *values, compare);
	most = OUTLIER_SCORE / SIGMA_OF_NORMAL * (double)median_of(values, ret->count);
	if (most <= 0)
		return;
	for (size_t i = 0; i < ret->count; i++)
		ret->outliers += (double)values[i] > most;
	ret->is_first_outlier = (double)llabs(first - median) > most;
}

int stat_spread(const struct stat_series *s, const char *name, struct stat_spread *ret,
		struct err *e)
{
	size_t metric = 0;
	int64_t *values;
	bool has_value;

	*ret = (struct stat_spread){ 0 };
	while (metric < s->metric_count && strcmp(s->last[metric].name, name) != 0)
		metric++;
	if (metric == s->metric_count)
		return 0;
	if (sorted_values(s, metric, &values, &has_value, e) < 0)
		return e->code;
	if (has_value) {
		ret->count = s->run_count;
		ret->least = values[0];
		ret->most = values[s->run_count - 1];
		sum_up(values, ret);
		find_outliers(values, s->runs[metric].value, ret);
	}
	free(values);
	return 0;
}

/* The 97.5 % quantile of Student's t, off by less than 1 % from 2 degrees of freedom on; below,
 * that of 1. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5. */
static double student_t(double freedom)
{
	const double x = 1.959964;

	if (freedom < 2)
		return 12.706;
	return x + (pow(x, 3) + x) / (4 * freedom) +
	       (5 * pow(x, 5) + 16 * pow(x, 3) + 3 * x) / (96 * pow(freedom, 2)) +
	       (3 * pow(x, 7) + 19 * pow(x, 5) + 17 * pow(x, 3) - 15 * x) /
		       (384 * pow(freedom, 3)) +
	       (79 * pow(x, 9) + 776 * pow(x, 7) + 1482 * pow(x, 5) - 1920 * pow(x, 3) - 945 * x) /
		       (92160 * pow(freedom, 4));
}

/* The variance of the logarithm of a mean. */
static double log_variance(const struct stat_spread *s)
{
	return pow(s->sigma / s->mean, 2) / (double)s->count;
}

struct stat_ratio stat_ratio(const struct stat_spread *a, const struct stat_spread *b)
{
	struct stat_ratio ret = { .has_value = a->mean > 0 && b->mean > 0 };
	double of_a, of_b, width;

	if (!ret.has_value)
		return ret;
	ret.value = ret.least = ret.most = b->mean / a->mean;
	if (a->count < 2 || b->count < 2)
		return ret;
	of_a = log_variance(a);
	of_b = log_variance(b);
	ret.has_interval = true;
	if (of_a + of_b <= 0)
		return ret;
	width = student_t(pow(of_a + of_b, 2) / (of_a * of_a / (double)(a->count - 1) +
						 of_b * of_b / (double)(b->count - 1))) *
		sqrt(of_a + of_b);
	ret.least = ret.value * exp(-width);
	ret.most = ret.value * exp(width);
	return ret;
}

int stat_usage_compare(const struct stat_usage *a, const struct stat_usage *b)
{
	int64_t of_a = a->user_ns + a->system_ns, of_b = b->user_ns + b->system_ns;

	return (of_a < of_b) - (of_a > of_b);
}

int stat_process_compare(const void *a, const void *b)
{
	const struct stat_process *x = a, *y = b;
	int rc = stat_usage_compare(&x->usage, &y->usage);

	return rc ? rc : (x->pid > y->pid) - (x->pid < y->pid);
}
