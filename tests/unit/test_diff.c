/* SPDX-License-Identifier: MIT */
#include "model/diff.h"

#include <errno.h>
#include <math.h>

#include "tap.h"
#include "view/compare.h"

static void add(struct profile *p, const char *name, const int64_t *values)
{
	uint32_t location = profile_name_location(p, name, strlen(name));

	profile_add(p, profile_push(p, 0, location), 0, values);
}

static struct profile *make(const char *types, const char *period)
{
	struct profile *p = profile_new();

	if (strchr(types, 's'))
		profile_add_type(p, "samples", "count");
	if (strchr(types, 'c'))
		profile_add_type(p, "cpu", "nanoseconds");
	profile_info(p)->period_type.type = profile_str(p, period);
	return p;
}

static void check_values(const struct profile *p, const char *name, const int64_t *want)
{
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		struct location l = profile_get_location(p, profile_get_node(p, s.node).location);
		const struct function *f = profile_get_function(p, l.lines[0].function);

		if (strcmp(profile_text(p, f->name), name) != 0)
			continue;
		for (size_t k = 0; k < profile_type_count(p); k++)
			CHECK_INT(s.values[k], want[k]);
		return;
	}
	CHECK(false);
}

/* Both sides in one profile; the order of types differs. */
static void test_sides(void)
{
	struct profile *a = make("sc", "cpu"), *b = make("sc", "cpu"), *d;
	struct err e;

	add(a, "both", (int64_t[]){ 1, 10 });
	add(a, "gone", (int64_t[]){ 2, 20 });
	add(b, "new", (int64_t[]){ 3, 30 });
	add(b, "both", (int64_t[]){ 4, 40 });
	if (CHECK_INT(profile_diff(a, b, "cpu", "nanoseconds", &d, &e), 0)) {
		CHECK(profile_diff_has_samples(d));
		CHECK_INT(profile_sample_count(d), 3);
		check_values(d, "both", (int64_t[]){ 10, 40, 1, 4 });
		check_values(d, "gone", (int64_t[]){ 20, 0, 2, 0 });
		check_values(d, "new", (int64_t[]){ 0, 30, 0, 3 });
		profile_free(d);
	}
	profile_free(a);
	profile_free(b);
}

/* Counts of samples tell about chance only where the values are sampled. */
static void test_samples(void)
{
	static const struct {
		const char *types, *period, *type, *unit;
		bool has_samples;
	} rows[] = {
		{ "sc", "cpu", "cpu", "nanoseconds", true },
		{ "sc", "cpu", "samples", "count", true },
		{ "s", "", "samples", "count", true },
		{ "sc", "cycles", "cpu", "nanoseconds", false },
		{ "c", "cpu", "cpu", "nanoseconds", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile *p = make(rows[i].types, rows[i].period), *d;
		struct err e;

		if (CHECK_INT(profile_diff(p, p, rows[i].type, rows[i].unit, &d, &e), 0)) {
			CHECK_INT(profile_diff_has_samples(d), rows[i].has_samples);
			profile_free(d);
		}
		profile_free(p);
	}
}

static void test_missing_type(void)
{
	struct profile *a = make("sc", "cpu"), *b = make("s", "cpu"), *d;
	struct err e;

	CHECK_INT(profile_diff(a, b, "cpu", "nanoseconds", &d, &e), -EINVAL);
	CHECK_STR(e.msg, "the second profile has no sample type cpu/nanoseconds");
	CHECK_INT(profile_diff(a, a, "cpu", "bytes", &d, &e), -EINVAL);
	CHECK_STR(e.msg, "the first profile has no sample type cpu/bytes");
	profile_free(a);
	profile_free(b);
}

static void test_z(void)
{
	static const struct {
		int64_t before, after;
		double ratio, least, most;
	} rows[] = {
		{ 0, 0, 1, 0, 0 },
		{ 100, 100, 1, 0, 0 },
		{ 100, 200, 2, -0.1, 0.1 },
		{ 100, 150, 1, 3.1, 3.3 }, /* 50 more, standard error sqrt(250): 3.16 */
		{ 150, 100, 1, -3.3, -3.1 },
		{ 0, 9, 1, 3, 4 }, /* 9 from none are no chance, 5 may be */
		{ 0, 5, 1, 2, 3 },
		{ 10000, 10100, 1, 0.6, 0.8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double z = compare_z(rows[i].before, rows[i].after, rows[i].ratio);

		if (!CHECK(z >= rows[i].least - 1e-9 && z <= rows[i].most + 1e-9))
			fprintf(stderr, "row %zu: z %g\n", i, z);
	}
}

static unsigned poisson(double mean, unsigned *state)
{
	double limit = exp(-mean), product = 1;
	unsigned count = 0;

	for (;;) {
		*state = *state * 1664525 + 1013904223;
		product *= ((double)(*state >> 8) + 0.5) / (1 << 24);
		if (product < limit)
			return count;
		count++;
	}
}

/* Of equal costs about 3 in 1000 seem significant, however they are sampled. */
static void test_false_alarms(void)
{
	static const double means[] = { 5, 20, 100 }, ratios[] = { 1, 2, 0.5 };
	unsigned state = 1;

	for (size_t m = 0; m < ARRAY_LEN(means); m++) {
		for (size_t r = 0; r < ARRAY_LEN(ratios); r++) {
			int alarms = 0;

			for (int i = 0; i < 20000; i++) {
				unsigned before = poisson(means[m], &state);
				unsigned after = poisson(means[m] * ratios[r], &state);

				alarms += fabs(compare_z(before, after, ratios[r])) >= COMPARE_Z;
			}
			if (!CHECK(alarms >= 20 && alarms <= 100)) /* 54 are expected */
				fprintf(stderr, "mean %g, ratio %g: %d of 20000\n", means[m],
					ratios[r], alarms);
		}
	}
}

int main(void)
{
	TAP_CASE(test_sides);
	TAP_CASE(test_samples);
	TAP_CASE(test_missing_type);
	TAP_CASE(test_z);
	TAP_CASE(test_false_alarms);
	return tap_done();
}
