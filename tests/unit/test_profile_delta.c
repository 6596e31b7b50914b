/* SPDX-License-Identifier: MIT */
#include "model/profile_delta.h"

#include "tap.h"

static uint32_t name_stack(struct profile *p, const char *name)
{
	return profile_push(p, 0, profile_name_location(p, name, strlen(name)));
}

static int64_t sum(const struct profile *p)
{
	int64_t total = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++)
		total += profile_get_sample(p, i).values[0];
	return total;
}

static void test_differences(void)
{
	static const struct {
		int64_t a, b;        /* added before the look */
		int64_t want;        /* sum of the difference */
		size_t want_samples; /* in it */
	} rows[] = { { 3, 4, 7, 2 }, { 0, 0, 0, 0 }, { 5, 0, 5, 1 }, { 0, 2, 2, 1 } };
	struct profile *p = profile_new();
	struct profile_delta since = { 0 };

	profile_add_type(p, "samples", "count");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile *now = NULL;
		struct err e;

		profile_add(p, name_stack(p, "a"), 0, &rows[i].a);
		profile_add(p, name_stack(p, "b"), 0, &rows[i].b);
		if (!CHECK_INT(profile_delta_take(&since, p, &now, &e), 0))
			continue;
		CHECK_INT(sum(now), rows[i].want);
		CHECK_INT(profile_sample_count(now), rows[i].want_samples);
		profile_free(now);
	}
	profile_delta_fini(&since);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_differences);
	return tap_done();
}
