/* SPDX-License-Identifier: MIT */
#include "model/diff.h"

#include <errno.h>
#include <string.h>

#include "model/merge.h"

#define MAX_TYPES (DIFF_AFTER_SAMPLES + 1)

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

/* Where a side's values come from and go to. */
struct side {
	const struct profile *src;
	int type, samples; /* indices in src; samples -1: it counts none */
	enum diff_type to, samples_to;
};

static int copy_side(struct profile *dst, const struct side *side, bool has_samples, struct err *e)
{
	struct profile_copier *c = profile_copier_new(dst, side->src, NULL, 0);

	if (!c)
		return err_nomem(e);
	for (size_t i = 0; i < profile_sample_count(side->src); i++) {
		struct sample s = profile_get_sample(side->src, i);
		int64_t values[MAX_TYPES] = { 0 };

		values[side->to] = s.values[side->type];
		if (has_samples)
			values[side->samples_to] = s.values[side->samples];
		profile_add(dst, profile_copy_node(c, s.node), profile_copy_labels(c, s.labels),
			    values);
	}
	profile_copier_free(c);
	return profile_check(dst, e);
}

static int copy_sides(struct profile *dst, const struct side *sides, const char *unit,
		      struct err *e)
{
	bool has_samples = sides[0].samples >= 0 && sides[1].samples >= 0;
	int rc;

	profile_add_type(dst, "before", unit);
	profile_add_type(dst, "after", unit);
	if (has_samples) {
		profile_add_type(dst, "before_samples", "count");
		profile_add_type(dst, "after_samples", "count");
	}
	rc = copy_side(dst, &sides[0], has_samples, e);
	return rc < 0 ? rc : copy_side(dst, &sides[1], has_samples, e);
}

int profile_diff(const struct profile *before, const struct profile *after, const char *type,
		 const char *unit, struct profile **ret, struct err *e)
{
	const struct side sides[] = {
		{ before, find_type(before, type, unit), find_samples(before, type), DIFF_BEFORE,
		  DIFF_BEFORE_SAMPLES },
		{ after, find_type(after, type, unit), find_samples(after, type), DIFF_AFTER,
		  DIFF_AFTER_SAMPLES },
	};
	struct profile *diff;
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(sides); i++)
		if (sides[i].type < 0)
			return err_set(e, -EINVAL, "the %s profile has no sample type %s/%s",
				       i ? "second" : "first", type, unit);
	diff = profile_new();
	if (!diff)
		return err_nomem(e);
	rc = copy_sides(diff, sides, unit, e);
	if (rc < 0) {
		profile_free(diff);
		return rc;
	}
	*ret = diff;
	return 0;
}

bool profile_diff_has_samples(const struct profile *diff)
{
	return profile_type_count(diff) > DIFF_BEFORE_SAMPLES;
}
