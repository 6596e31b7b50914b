/* SPDX-License-Identifier: MIT */
/* Expected z: of Student's t by numeric integration; Wallace's is near it. */
#include "view/run_change.h"

#include <math.h>
#include <stdint.h>

#include "tap.h"
#include "view/compare.h"

static struct run_values make(const double *values, size_t count, double samples)
{
	return (struct run_values){ .values = values, .count = count, .samples = samples };
}

static bool is_near(double got, double want)
{
	return fabs(got - want) <= 0.02 * fabs(want);
}

static void test_z(void)
{
	const double before[] = { 100, 104, 98, 101, 97 }, after[] = { 110, 108, 115, 112, 105 };
	const struct run_values b = make(before, 5, 0), a = make(after, 5, 0);

	CHECK(is_near(run_change_z(&b, &a), 3.114)); /* t = 4.767 of 7.26 degrees of freedom */
	CHECK(is_near(run_change_z(&a, &b), -3.114));
	CHECK(run_change_z(&b, &b) == 0);
}

static void test_one_run(void)
{
	const double before[] = { 100, 104, 98, 101, 97 }, after[] = { 103 };
	const struct run_values b = make(before, 5, 0), a = make(after, 1, 0);

	CHECK(is_near(run_change_z(&b, &a), 0.889)); /* t = 1 of 4 */
	CHECK(is_near(run_change_z(&a, &b), -0.889));
}

/* Equal runs have no spread, but so few samples tell nothing. */
static void test_floor(void)
{
	const double two[] = { 2, 2 }, four[] = { 4, 4 };
	struct run_values b = make(two, 2, 4), a = make(four, 2, 8);

	CHECK(fabs(run_change_z(&b, &a)) < 2);
	b.samples = 0;
	a.samples = 0;
	CHECK(run_change_z(&b, &a) == RUN_CHANGE_MAX_Z);
}

/* Roughly normal, the same in each run of the test. */
static double noise(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
		sum += (double)(*state >> 11) * 0x1p-53;
	}
	return sum;
}

static void test_false_alarms(void)
{
	const int trials = 20000;

	for (size_t count = 2; count <= 6; count++) {
		uint64_t state = count;
		int alarms = 0;

		for (int i = 0; i < trials; i++) {
			double before[6], after[6];

			for (size_t k = 0; k < count; k++) {
				before[k] = 100 + 20 * noise(&state);
				after[k] = 100 + 20 * noise(&state);
			}
			alarms += fabs(run_change_z(&(struct run_values){ before, count, 0 },
						    &(struct run_values){ after, count, 0 })) >=
				  COMPARE_Z;
		}
		CHECK(alarms <= trials / 100);
	}
}

int main(void)
{
	TAP_CASE(test_z);
	TAP_CASE(test_one_run);
	TAP_CASE(test_floor);
	TAP_CASE(test_false_alarms);
	return tap_done();
}
