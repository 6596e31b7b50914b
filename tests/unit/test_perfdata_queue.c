/* SPDX-License-Identifier: MIT */
#include "format/perfdata/queue.h"

#include "tap.h"

static void test_rounds(void)
{
	static const uint64_t rounds[][3] = { { 30, 50, 40 }, { 45, 60, 70 }, { 65, 5, 80 } };
	static const uint64_t want[] = { 30, 40, 45, 50, 5, 60, 65, 70, 80 };
	struct perfdata_queue q = { 0 };
	struct perfdata_record r;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
		for (size_t k = 0; k < 3; k++)
			CHECK_INT(perfdata_queue_put(&q, rounds[i][k], NULL, NULL), 0);
		perfdata_queue_end_round(&q);
		while (perfdata_queue_take(&q, &r) && n < ARRAY_LEN(want))
			CHECK_INT(r.time, want[n++]);
	}
	CHECK_INT(n, 8);
	perfdata_queue_end(&q);
	while (perfdata_queue_take(&q, &r) && n < ARRAY_LEN(want))
		CHECK_INT(r.time, want[n++]);
	CHECK_INT(n, ARRAY_LEN(want));
	perfdata_queue_fini(&q);
}

int main(void)
{
	TAP_CASE(test_rounds);
	return tap_done();
}
