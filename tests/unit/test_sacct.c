/* SPDX-License-Identifier: MIT */
#include "usage/slurm/sacct.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "model/stage_jobs.h"
#include "tap.h"

/* One job with these fields. */
static struct sacct *read_one(const char *head, const char *line, struct err *e)
{
	static char text[512];
	struct sacct *s;

	snprintf(text, sizeof text, "%s\n%s\n", head, line);
	return sacct_read(text, strlen(text), &s, e) == 0 ? s : NULL;
}

static void test_elapsed(void)
{
	static const struct {
		const char *text;
		int64_t seconds; /* -1: none */
	} rows[] = {
		{ "00:00:01", 1 },
		{ "01:02:03", 3723 },
		{ "2-00:00:01", 172801 },
		{ "05:06", 306 },
		{ "", -1 },
		{ "Unknown", -1 },
		{ "1:", -1 },
		{ "99999999999", -1 },
		{ "4000000000-1", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char line[64];
		struct err e;
		struct sacct *s;

		snprintf(line, sizeof line, "7|%s", rows[i].text);
		s = read_one("JobID|Elapsed", line, &e);
		if (CHECK(s != NULL))
			CHECK_INT(sacct_get(s, 0)->elapsed_ns,
				  rows[i].seconds < 0 ? -1 : rows[i].seconds * 1000000000);
		sacct_free(s);
	}
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		int64_t kb;
	} rows[] = {
		{ "308316K", 308316 }, { "1.50G", 1572864 }, { "0", 0 },    { "2048", 2 },
		{ "3M", 3072 },        { "", -1 },           { "n/a", -1 }, { "99999999999K", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char line[64];
		struct err e;
		struct sacct *s;

		snprintf(line, sizeof line, "%s|7", rows[i].text);
		s = read_one("MaxRSS|JobID", line, &e);
		if (CHECK(s != NULL))
			CHECK_INT(sacct_get(s, 0)->max_rss_kb, rows[i].kb);
		sacct_free(s);
	}
}

static void test_broken(void)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{ "", "is empty" },
		{ "Elapsed|State\n", "line 1: no column JobID, as 'sacct -P' prints it" },
		{ "State|JobID\nX|1\nY\n", "line 3: no JobID" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sacct *s;
		struct err e;

		CHECK_INT(sacct_read(rows[i].text, strlen(rows[i].text), &s, &e), -EINVAL);
		CHECK_STR(e.msg, rows[i].reason);
	}
}

static void test_doubts(void)
{
	const int64_t s = 1000000000;
	static const struct str id = { "1", 1 };
	const struct {
		struct stage_job job;
		enum stage_job_mismatch doubt;
	} rows[] = {
		{ { id, 1, 95 * s, 0, 0, 1000, 100 * s, 1000, id, true }, JOB_AGREES },
		{ { id, 1, 1 * s, 0, 0, -1, 2 * s, -1, id, true }, JOB_AGREES },
		{ { id, 0, 0, 0, 0, -1, 2 * s, -1, id, true }, JOB_HAS_NO_REPORT },
		{ { id, 1, s, 0, 0, -1, -1, -1, id, false }, JOB_IS_NOT_ACCOUNTED },
		{ { id, 1, 104 * s, 0, 0, -1, 100 * s, -1, id, true }, JOB_TOO_LONG },
		{ { id, 1, 79 * s, 0, 0, -1, 100 * s, -1, id, true }, JOB_MUCH_OUTSIDE },
		{ { id, 2, 150 * s, 5 * s, 104 * s, -1, 100 * s, -1, id, true }, JOB_AGREES },
		{ { id, 1, 95 * s, 0, 0, 200000, 100 * s, 100000, id, true }, JOB_PEAK_MISSED },
		{ { id, 1, 95 * s, 0, 0, 100000, 100 * s, 200000, id, true }, JOB_MORE_MEMORY },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(stage_job_mismatch(&rows[i].job), rows[i].doubt);
}

int main(void)
{
	TAP_CASE(test_elapsed);
	TAP_CASE(test_sizes);
	TAP_CASE(test_broken);
	TAP_CASE(test_doubts);
	return tap_done();
}
