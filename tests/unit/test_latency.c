/* SPDX-License-Identifier: MIT */
#include "model/latency.h"

#include "tap.h"

static void test_slots_are_in_order(void)
{
	static const uint64_t values[] = {
		0, 15, 16, 17, 18, 31, 32, 1000, 4095, 4096, UINT64_C(1) << 39
	};

	CHECK_INT(latency_slot(0), 0);
	CHECK_INT(latency_slot(16), 1);
	CHECK_INT(latency_slot(UINT64_MAX), LATENCY_SLOTS - 1);
	CHECK_INT(latency_slot_start(LATENCY_SLOTS), LATENCY_TOP_NS);
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		size_t slot = latency_slot(values[i]);

		CHECK((uint64_t)latency_slot_start(slot) <= values[i]);
		CHECK((uint64_t)latency_slot_start(slot + 1) > values[i]);
	}
	for (size_t slot = 0; slot < LATENCY_SLOTS; slot++)
		CHECK_INT(latency_slot((uint64_t)latency_slot_start(slot)), slot);
}

static void test_quantiles(void)
{
	struct latency l = { 0 };

	CHECK_INT(latency_quantile(&l, 0.5), 0);
	for (int64_t i = 1; i <= 1000; i++)
		CHECK_INT(latency_add(&l, 1000 * i), 0);
	CHECK_INT(l.count, 1000);
	CHECK_INT(l.min_ns, 1000);
	CHECK_INT(l.max_ns, 1000000);
	CHECK_INT(latency_mean(&l), 500500);
	CHECK(latency_quantile(&l, 0.5) > 437500 && latency_quantile(&l, 0.5) < 562500);
	CHECK(latency_quantile(&l, 0.99) > 900000 && latency_quantile(&l, 0.99) <= 1000000);
	CHECK_INT(latency_quantile(&l, 1), 1000000);
	CHECK(latency_quantile(&l, 0) >= 1000);
	latency_fini(&l);
}

static void test_merged_is_the_sum(void)
{
	struct latency a = { 0 }, b = { 0 }, none = { 0 };

	CHECK_INT(latency_add(&a, 100), 0);
	CHECK_INT(latency_add(&b, 5000), 0);
	CHECK_INT(latency_add(&b, -1), 0);
	CHECK_INT(latency_merge(&a, &b), 0);
	CHECK_INT(latency_merge(&a, &none), 0);
	CHECK_INT(a.count, 3);
	CHECK_INT(a.total_ns, 5100);
	CHECK_INT(a.min_ns, 0);
	CHECK_INT(a.max_ns, 5000);
	CHECK_INT(latency_octave(&a, 3), 1);  /* less than 16 ns */
	CHECK_INT(latency_octave(&a, 6), 1);  /* 64 to 128 */
	CHECK_INT(latency_octave(&a, 12), 1); /* 4096 to 8192 */
	CHECK_INT(latency_octave(&a, 20), 0);
	latency_fini(&a);
	latency_fini(&b);
}

int main(void)
{
	TAP_CASE(test_slots_are_in_order);
	TAP_CASE(test_quantiles);
	TAP_CASE(test_merged_is_the_sum);
	return tap_done();
}
