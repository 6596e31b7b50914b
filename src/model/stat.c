/* SPDX-License-Identifier: MIT */
#include "model/stat.h"

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

int stat_summarize(const struct stat_series *s, size_t metric, struct stat_summary *ret,
		   struct err *e)
{
	int64_t *values = reallocarray(NULL, s->run_count, sizeof *values);

	if (!values)
		return err_nomem(e);
	*ret = (struct stat_summary){ .has_value = true };
	for (size_t i = 0; i < s->run_count; i++) {
		const struct stat_metric *f = &s->runs[i * s->metric_count + metric];

		ret->has_value &= f->has_value;
		values[i] = f->value;
	}
	qsort(values, s->run_count, sizeof *values, compare);
	ret->least = values[0];
	ret->most = values[s->run_count - 1];
	ret->median = s->run_count % 2
			      ? values[s->run_count / 2]
			      : values[s->run_count / 2 - 1] / 2 + values[s->run_count / 2] / 2;
	free(values);
	return 0;
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
