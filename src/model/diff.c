/* SPDX-License-Identifier: MIT */
#include "model/diff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/merge.h"

#define MAX_TYPES (DIFF_AFTER_SAMPLES + 1 + 2 * DIFF_MAX_RUNS)

static const char samples_before[] = "before_samples";

/* Index of this type and unit, or -1. */
static int find_type(const struct profile *p, const char *type, const char *unit)
{
	for (size_t i = 0; i < profile_type_count(p); i++) {
		struct value_type have = profile_get_type(p, i);

		if (strcmp(profile_text(p, have.type), type) == 0 &&
		    strcmp(profile_text(p, have.unit), unit) == 0)
			return (int)i;
	}
	return -1;
}

/* The type that counts the samples which a type's values stand for: the samples themselves, or
 * what one of them is worth (the period). -1: the values are not sampled, or there is no count. */
static int find_samples(const struct profile *p, const char *type)
{
	const struct profile_info *info = profile_get_info(p);

	if (strcmp(type, "samples") != 0 &&
	    strcmp(type, profile_text(p, info->period_type.type)) != 0)
		return -1;
	return find_type(p, "samples", "count");
}

/* Where a run's values come from and go to. */
struct run {
	const struct profile *src;
	int type, samples; /* indices in src; samples -1: it counts none */
	enum diff_type to, samples_to;
	size_t own; /* its own sample type; 0: none */
};

static int copy_run(struct profile *dst, const struct run *run, bool has_samples, struct err *e)
{
	struct profile_copier *c = profile_copier_new(dst, run->src, NULL, 0);

	if (!c)
		return err_nomem(e);
	for (size_t i = 0; i < profile_sample_count(run->src); i++) {
		struct sample s = profile_get_sample(run->src, i);
		int64_t values[MAX_TYPES] = { 0 };

		values[run->to] = s.values[run->type];
		if (run->own)
			values[run->own] = s.values[run->type];
		if (has_samples)
			values[run->samples_to] = s.values[run->samples];
		profile_add(dst, profile_copy_node(c, s.node), profile_copy_labels(c, s.labels),
			    values);
	}
	profile_copier_free(c);
	return profile_check(dst, e);
}

static int find_runs(const struct diff_side *sides, const char *type, const char *unit,
		     struct run *runs, struct err *e)
{
	size_t count = 0;

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count; i++) {
			const struct profile *src = sides[side].runs[i];

			runs[count] = (struct run){
				src,
				find_type(src, type, unit),
				find_samples(src, type),
				side ? DIFF_AFTER : DIFF_BEFORE,
				side ? DIFF_AFTER_SAMPLES : DIFF_BEFORE_SAMPLES,
				0,
			};
			if (runs[count++].type < 0)
				return err_set(e, -EINVAL,
					       "the %s profile has no sample type %s/%s",
					       side ? "second" : "first", type, unit);
		}
	return 0;
}

static int copy_runs(struct profile *dst, struct run *runs, size_t count, const char *unit,
		     struct err *e)
{
	bool has_samples = true;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		has_samples &= runs[i].samples >= 0;
	profile_add_type(dst, "before", unit);
	profile_add_type(dst, "after", unit);
	if (has_samples) {
		profile_add_type(dst, samples_before, "count");
		profile_add_type(dst, "after_samples", "count");
	}
	for (size_t i = 0; i < count && count > 2; i++) {
		char name[24];

		snprintf(name, sizeof name, "run_%zu", i);
		runs[i].own = profile_type_count(dst);
		profile_add_type(dst, name, unit);
	}
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = copy_run(dst, &runs[i], has_samples, e);
	return rc;
}

int profile_diff_runs(const struct diff_side *before, const struct diff_side *after,
		      const char *type, const char *unit, struct profile **ret, struct err *e)
{
	const struct diff_side sides[] = { *before, *after };
	struct run runs[2 * DIFF_MAX_RUNS];
	struct profile *diff;
	int rc = find_runs(sides, type, unit, runs, e);

	if (rc < 0)
		return rc;
	diff = profile_new();
	if (!diff)
		return err_nomem(e);
	rc = copy_runs(diff, runs, before->count + after->count, unit, e);
	if (rc < 0) {
		profile_free(diff);
		return rc;
	}
	*ret = diff;
	return 0;
}

int profile_diff(const struct profile *before, const struct profile *after, const char *type,
		 const char *unit, struct profile **ret, struct err *e)
{
	return profile_diff_runs(&(struct diff_side){ &before, 1 },
				 &(struct diff_side){ &after, 1 }, type, unit, ret, e);
}

size_t profile_diff_run_type(const struct profile *diff, size_t run)
{
	int first = profile_find_type(diff, "run_0");

	return first < 0 ? run : (size_t)first + run;
}

bool profile_diff_has_samples(const struct profile *diff)
{
	return profile_find_type(diff, samples_before) >= 0;
}
