/* SPDX-License-Identifier: MIT */
/* Repeated runs of a command: model/stat.h. The expected interval has Student's t by numeric
 * integration. */
#include <math.h>

#include "model/stat.h"

#include "tap.h"

static void add(struct stat_series *s, int64_t value)
{
	const struct stat_metric metrics[] = {
		{ .name = "other", .unit = "count" },
		{ .name = "elapsed", .unit = "nanoseconds", .has_value = true, .value = value },
	};
	struct err e;

	CHECK_INT(stat_series_add(s, metrics, ARRAY_LEN(metrics), &e), 0);
}

static void check_median(const int64_t *values, size_t count, int64_t median)
{
	struct stat_series s = { 0 };
	struct stat_summary sum;
	struct err e;

	for (size_t i = 0; i < count; i++)
		add(&s, values[i]);
	CHECK_INT(stat_summarize(&s, 1, &sum, &e), 0);
	CHECK(sum.has_value && sum.least <= sum.median && sum.median <= sum.most);
	CHECK_INT(sum.median, median);
	CHECK_INT(stat_summarize(&s, 0, &sum, &e), 0);
	CHECK(!sum.has_value);
	stat_series_fini(&s);
}

static void test_median(void)
{
	check_median((const int64_t[]){ 7 }, 1, 7);
	check_median((const int64_t[]){ 1, 1 }, 2, 1);
	check_median((const int64_t[]){ 5, 3 }, 2, 4);
	check_median((const int64_t[]){ 9, 1, 3 }, 3, 3);
	check_median((const int64_t[]){ INT64_MAX, INT64_MAX - 2 }, 2, INT64_MAX - 1);
}

static struct stat_spread spread_of(const int64_t *values, size_t count)
{
	struct stat_series s = { 0 };
	struct stat_spread ret;
	struct err e;

	for (size_t i = 0; i < count; i++)
		add(&s, values[i]);
	CHECK_INT(stat_spread(&s, "elapsed", &ret, &e), 0);
	stat_series_fini(&s);
	return ret;
}

static bool is_near(double got, double want)
{
	return fabs(got - want) <= 0.001 * fabs(want);
}

static const int64_t as[] = { 100, 104, 98, 101, 97 }, bs[] = { 150, 148, 155, 152, 145 };

static void test_spread(void)
{
	struct stat_spread s = spread_of(as, ARRAY_LEN(as));

	CHECK(is_near(s.mean, 100) && is_near(s.sigma, 2.7386));
	CHECK(s.count == 5 && s.least == 97 && s.most == 104 && s.outliers == 0);
	s = spread_of((const int64_t[]){ 400, 100, 104, 98, 101, 97 }, 6);
	CHECK(s.outliers == 1 && s.is_first_outlier);
	s = spread_of((const int64_t[]){ 100, 104, 400, 98, 101, 97 }, 6);
	CHECK(s.outliers == 1 && !s.is_first_outlier);
	s = spread_of((const int64_t[]){ 5, 5, 5, 9 }, 4); /* no spread to compare with */
	CHECK_INT(s.outliers, 0);
	s = spread_of((const int64_t[]){ 7 }, 1);
	CHECK(s.mean == 7 && s.sigma == 0 && s.count == 1);
}

static void test_absent(void)
{
	struct stat_series s = { 0 };
	struct stat_spread spread;
	struct err e;

	add(&s, 1);
	CHECK_INT(stat_spread(&s, "other", &spread, &e), 0);
	CHECK_INT(spread.count, 0);
	CHECK_INT(stat_spread(&s, "none", &spread, &e), 0);
	CHECK_INT(spread.count, 0);
	CHECK(!stat_ratio(&spread, &spread).has_value);
	stat_series_fini(&s);
}

static void test_ratio(void)
{
	struct stat_spread a = spread_of(as, ARRAY_LEN(as)), b = spread_of(bs, ARRAY_LEN(bs));
	struct stat_ratio r = stat_ratio(&a, &b);

	CHECK(r.has_value && r.has_interval && is_near(r.value, 1.5));
	CHECK(is_near(r.least, 1.44328) && is_near(r.most, 1.55895));
	r = stat_ratio(&a, &a);
	CHECK(is_near(r.value, 1) && r.least < 1 && r.most > 1);
	b = spread_of(bs, 1);
	r = stat_ratio(&a, &b);
	CHECK(r.has_value && !r.has_interval);
	b = spread_of((const int64_t[]){ 200, 200 }, 2);
	a = spread_of((const int64_t[]){ 100, 100 }, 2);
	r = stat_ratio(&a, &b);
	CHECK(r.least == 2 && r.most == 2);
}

int main(void)
{
	TAP_CASE(test_median);
	TAP_CASE(test_spread);
	TAP_CASE(test_absent);
	TAP_CASE(test_ratio);
	return tap_done();
}
