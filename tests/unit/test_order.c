/* SPDX-License-Identifier: MIT */
#include "perf/order.h"

#include "tap.h"

static void test_empty(void)
{
	struct order o = { 0 };
	struct order_entry first;

	CHECK(!order_first(&o, &first));
	CHECK_INT(order_put(&o, 3, 10), 0);
	CHECK(order_first(&o, &first) && first.source == 3 && first.time == 10);
	order_drop(&o);
	CHECK(!order_first(&o, &first));
	order_fini(&o);
}

/* 100 sources, each with times of its own, come out as one ascending series; equal times by
 * source. */
static void test_merge(void)
{
	struct order o = { 0 };
	struct order_entry last = { 0, 0 }, first;
	int left[100];
	int count = 0;

	for (uint32_t i = 0; i < 100; i++) {
		left[i] = 50;
		CHECK_INT(order_put(&o, 99 - i, (99 - i) % 7), 0);
	}
	while (order_first(&o, &first)) {
		CHECK(count == 0 || first.time >= last.time);
		CHECK(count == 0 || first.time > last.time || first.source > last.source);
		last = first;
		count++;
		if (--left[first.source] == 0)
			order_drop(&o);
		else
			order_advance(&o, first.time + 1 + first.source % 13);
	}
	CHECK_INT(count, 5000);
	order_fini(&o);
}

int main(void)
{
	TAP_CASE(test_empty);
	TAP_CASE(test_merge);
	return tap_done();
}
