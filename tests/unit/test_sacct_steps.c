/* SPDX-License-Identifier: MIT */
#include "usage/slurm/sacct_steps.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

/* As sacct 22.05 prints it. */
static void test_read(void)
{
	static const char text[] =
		"JobID|State|ElapsedRaw|CPUTimeRAW|UserCPU|TotalCPU|AveCPU|MaxRSS|MaxDiskRead|"
		"AllocCPUS|NTasks|ExitCode|Unknown\n"
		"12|CANCELLED by 0|90061|180122|1-02:03:04|00:02.968||||2||0:9|x\n"
		"\n"
		"12.batch|COMPLETED|14|28|00:02.248|00:02.968|00:00:03|1135046656|20487.77K|2|1|3:0|\n"
		"12.0|RUNNING";
	static const struct {
		size_t step;
		enum sacct_field field;
		int64_t value;
	} rows[] = {
		{ 0, SACCT_ELAPSED, INT64_C(90061000000000) },
		{ 0, SACCT_USER, INT64_C(93784000000000) },
		{ 0, SACCT_TOTAL, INT64_C(2968000000) },
		{ 0, SACCT_AVE_CPU, -1 },
		{ 0, SACCT_MAX_RSS, -1 },
		{ 0, SACCT_STATUS, 137 },
		{ 1, SACCT_USER, INT64_C(2248000000) },
		{ 1, SACCT_AVE_CPU, INT64_C(3000000000) },
		{ 1, SACCT_MAX_RSS, 1135046656 },
		{ 1, SACCT_MAX_READ, 20979476 },
		{ 1, SACCT_CPUS, 2 },
		{ 1, SACCT_TASKS, 1 },
		{ 1, SACCT_STATUS, 3 },
		{ 1, SACCT_MAX_VM, -1 },
		{ 2, SACCT_ELAPSED, -1 },
	};
	struct rows steps;
	struct err e;

	if (!CHECK_INT(sacct_steps_read(text, strlen(text), &steps, &e), 0))
		return;
	CHECK_INT(steps.count, 3);
	for (size_t i = 0; i < ARRAY_LEN(rows) && steps.count == 3; i++) {
		const struct sacct_step *step = (const struct sacct_step *)steps.data;

		CHECK_INT(step[rows[i].step].values[rows[i].field], rows[i].value);
	}
	rows_fini(&steps);
}

/* What is no number is not told. */
static void test_values(void)
{
	static const struct {
		const char *text;
		int64_t elapsed, rss;
	} rows[] = {
		{ "1|00:10|2K", INT64_C(10000000000), 2048 },
		{ "1|10|1.5G", INT64_C(10000000000), 1610612736 },
		{ "1||", -1, -1 },
		{ "1|x|y", -1, -1 },
		{ "1|99999999999999999999|99999999999999999999", -1, -1 },
		{ "1|9999999999|999999999999P", -1, -1 },
		{ "1|1-|1", -1, 1 },
		{ "1|1:|1K", -1, 1024 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[128];
		struct rows steps;
		struct err e;

		snprintf(text, sizeof text, "JobID|Elapsed|MaxRSS\n%s\n", rows[i].text);
		if (!CHECK_INT(sacct_steps_read(text, strlen(text), &steps, &e), 0))
			continue;
		CHECK_INT(((struct sacct_step *)steps.data)->values[SACCT_ELAPSED],
			  rows[i].elapsed);
		CHECK_INT(((struct sacct_step *)steps.data)->values[SACCT_MAX_RSS], rows[i].rss);
		rows_fini(&steps);
	}
}

static void test_wrong(void)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{ "", "is empty" },
		{ "State|Elapsed\n", "line 1: no column JobID, as 'sacct -P' prints it" },
		{ "JobID|State\n|x\n", "line 2: no JobID" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rows steps;
		struct err e;

		CHECK_INT(sacct_steps_read(rows[i].text, strlen(rows[i].text), &steps, &e),
			  -EINVAL);
		CHECK_STR(e.msg, rows[i].reason);
	}
}

int main(void)
{
	TAP_CASE(test_read);
	TAP_CASE(test_values);
	TAP_CASE(test_wrong);
	return tap_done();
}
