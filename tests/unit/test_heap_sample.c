/* SPDX-License-Identifier: MIT */
#include "preload/heap/sample.h"

#include <math.h>

#include "preload/heap/blocks.h"
#include "tap.h"

static struct thread thread;

/* Blocks that many of one size are estimated to be: within 6 standard deviations. */
static void check_size(size_t size, uint64_t period, unsigned count)
{
	double hit = -expm1(-(double)(size ? size : 1) / (double)period);
	double deviation = sqrt((double)count * (1 - hit) / hit) + sqrt((double)count * hit) / 2;
	double estimate = 0;

	thread.random = UINT64_C(88172645463325252) + size;
	thread.sample_left = 0;
	for (unsigned i = 0; i < count; i++)
		estimate += sample_weight(&thread, size, period);
	if (!CHECK(fabs(estimate - count) <= 6 * deviation + 1))
		fprintf(stderr, "size %zu: estimate %f of %u\n", size, estimate, count);
}

static void test_estimates(void)
{
	static const size_t sizes[] = { 0, 1, 16, 100, 1000, 4096, 10000, 100000, 1 << 24 };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		check_size(sizes[i], 4096, 300000);
	check_size(64, 524288, 3000000);
}

/* A block that is much larger than the period is one block, always. */
static void test_large(void)
{
	for (int i = 0; i < 1000; i++)
		CHECK_INT(sample_weight(&thread, 1 << 20, 1024), 1);
	CHECK_INT(sample_weight(&thread, SIZE_MAX, 1024), 1);
}

static void test_bounds(void)
{
	uint32_t most = 0;

	for (int i = 0; i < 3000000; i++) {
		uint32_t weight = sample_weight(&thread, 1, 2000);

		most = weight > most ? weight : most;
	}
	CHECK(most >= 2000 && most <= 2002);
	thread.sample_left = 0;
	CHECK_INT(sample_weight(&thread, 1, UINT64_C(1) << 60), BLOCK_WEIGHT_MAX);
}

int main(void)
{
	TAP_CASE(test_estimates);
	TAP_CASE(test_large);
	TAP_CASE(test_bounds);
	return tap_done();
}
