/* SPDX-License-Identifier: MIT */
#include "model/sketch.h"

#include <math.h>
#include <stdlib.h>

#include "base/macros.h"
#include "tap.h"

static const double quantiles[] = { 0, 0.01, 0.5, 0.9, 0.95, 0.99, 1 };

/* Few values are exact: the least that enough are not above. */
static void test_exact(void)
{
	CLEANUP(sketch_fini) struct sketch s = { 0 };

	CHECK_INT(sketch_quantile(&s, 0.5), 0);
	for (int64_t v = 20; v > 0; v--)
		CHECK_INT(sketch_add(&s, v * 1000003), 0);
	CHECK_INT(sketch_quantile(&s, 0), 1000003);
	CHECK_INT(sketch_quantile(&s, 0.5), INT64_C(10) * 1000003);
	CHECK_INT(sketch_quantile(&s, 0.95), INT64_C(19) * 1000003);
	CHECK_INT(sketch_quantile(&s, 0.96), INT64_C(20) * 1000003);
	CHECK_INT(sketch_quantile(&s, 1), INT64_C(20) * 1000003);
}

static int compare(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Many are off by no more than is said, over 15 powers of ten and in any order. */
static void test_error(void)
{
	enum { COUNT = 20000 };
	CLEANUP(sketch_fini) struct sketch s = { 0 };
	int64_t *values = calloc(COUNT, sizeof *values);

	srand(1);
	for (int i = 0; values && i < COUNT; i++) {
		values[i] = (int64_t)pow(10, 15.0 * rand() / RAND_MAX);
		CHECK_INT(sketch_add(&s, values[i]), 0);
	}
	if (!CHECK(values != NULL))
		return;
	qsort(values, COUNT, sizeof *values, compare);
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++) {
		int64_t rank = (int64_t)ceil(quantiles[i] * COUNT);
		double want = (double)values[rank ? rank - 1 : 0];
		double got = (double)sketch_quantile(&s, quantiles[i]);

		if (!CHECK(fabs(got - want) <= want * SKETCH_ERROR + 1))
			fprintf(stderr, "q %g: got %g, want %g\n", quantiles[i], got, want);
	}
	free(values);
}

static void test_edges(void)
{
	static const int64_t edges[] = { 0, 1, 63, 64, 65, 127, 128, INT64_MAX, INT64_MAX - 1, -5 };
	CLEANUP(sketch_fini) struct sketch s = { 0 };

	for (int i = 0; i < 20; i++)
		for (size_t k = 0; k < ARRAY_LEN(edges); k++)
			CHECK_INT(sketch_add(&s, edges[k]), 0);
	CHECK_INT(s.count, 20 * ARRAY_LEN(edges));
	CHECK_INT(sketch_quantile(&s, 0), 0);
	CHECK_INT(sketch_quantile(&s, 0.3), 1);
	CHECK_INT(sketch_quantile(&s, 0.4), 63);
	CHECK_INT(sketch_quantile(&s, 1), INT64_MAX);
	CHECK(s.bucket_count * sizeof *s.bucket <= 15 * 1024);
}

int main(void)
{
	TAP_CASE(test_exact);
	TAP_CASE(test_error);
	TAP_CASE(test_edges);
	return tap_done();
}
