/* SPDX-License-Identifier: MIT */
#include "usage/job_metrics.h"

#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "tap.h"

static void test_verdict(void)
{
	static const struct {
		int elapsed_ms, user_ms, kernel_ms, ready_ms; /* -1: unknown */
		const char *want;
	} rows[] = {
		{ 1000, 600, 100, 100,
		  "60 % of the time in user code, 10 % in the kernel, 10 % ready without a CPU, 20 % waiting" },
		{ 1000, 1000, 0, -1, "100 % of the time in user code" },
		{ 1000, 0, 0, 0, "0 % of the time in user code, 100 % waiting" },
		{ 1000, 400, 100, 550,
		  "40 % of the time in user code, 10 % in the kernel, 50 % ready without a CPU" },
		{ 1000, 3000, 1000, 0, "4.00 CPUs were busy on average, 25 % of it in the kernel" },
		{ 2000, 2000, 0, 4000,
		  "1.00 CPUs were busy on average; 2.00 threads were ready without a CPU" },
		{ 0, 0, 0, -1, "0 % of the time in user code, 100 % waiting" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct job j = { .elapsed_ns = rows[i].elapsed_ms * (NS_PER_S / 1000),
				 .run_wait_ns = rows[i].ready_ms * (NS_PER_S / 1000) };
		struct buf got = { 0 };

		j.usage.ru_utime.tv_sec = rows[i].user_ms / 1000;
		j.usage.ru_utime.tv_usec = rows[i].user_ms % 1000 * 1000;
		j.usage.ru_stime.tv_sec = rows[i].kernel_ms / 1000;
		j.usage.ru_stime.tv_usec = rows[i].kernel_ms % 1000 * 1000;
		job_verdict(&j, &got);
		CHECK_STR(got.data, rows[i].want);
		buf_fini(&got);
	}
}

int main(void)
{
	TAP_CASE(test_verdict);
	return tap_done();
}
