/* SPDX-License-Identifier: MIT */
#include "model/profile_delta.h"

#include <stdlib.h>
#include <string.h>

#include "model/merge.h"

static bool grow(struct profile_delta *s, size_t sample_count, size_t type_count)
{
	size_t more = sample_count - s->sample_count;
	int64_t *values;

	if (!more)
		return true;
	values = reallocarray(s->values, sample_count, type_count * sizeof *values);
	if (!values)
		return false;
	memset(values + s->sample_count * type_count, 0, more * type_count * sizeof *values);
	s->values = values;
	s->sample_count = sample_count;
	return true;
}

/* ret: [type_count]. Whether anything changed; what it is now is remembered. */
static bool take_difference(int64_t *before, const int64_t *now, size_t type_count, int64_t *ret)
{
	bool is_changed = false;

	for (size_t i = 0; i < type_count; i++) {
		if (__builtin_sub_overflow(now[i], before[i], &ret[i]))
			ret[i] = now[i];
		is_changed |= ret[i] != 0;
		before[i] = now[i];
	}
	return is_changed;
}

int profile_delta_take(struct profile_delta *s, const struct profile *p, struct profile **ret,
		       struct err *e)
{
	size_t type_count = profile_type_count(p);
	struct profile *dst = profile_new();
	struct profile_copier *copier = dst ? profile_copier_new(dst, p, NULL, 0) : NULL;
	int64_t values[PROFILE_MAX_TYPES];
	int rc;

	if (!copier || !grow(s, profile_sample_count(p), type_count)) {
		profile_copier_free(copier);
		profile_free(dst);
		return err_nomem(e);
	}
	profile_copy_head(dst, p);
	for (size_t i = 0; i < s->sample_count; i++) {
		struct sample now = profile_get_sample(p, i);

		if (take_difference(s->values + i * type_count, now.values, type_count, values))
			profile_add(dst, profile_copy_node(copier, now.node),
				    profile_copy_labels(copier, now.labels), values);
	}
	profile_copier_free(copier);
	rc = profile_check(dst, e);
	if (rc < 0) {
		profile_free(dst);
		return rc;
	}
	*ret = dst;
	return 0;
}

void profile_delta_fini(struct profile_delta *s)
{
	free(s->values);
	*s = (struct profile_delta){ 0 };
}
