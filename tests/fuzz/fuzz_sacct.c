/* SPDX-License-Identifier: MIT */
/* Any text taken for what sacct prints: jobs have names of the text, each once, and numbers that
 * are either there or -1; they join reports whatever they say. So of the steps of a job. */
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "model/stage_jobs.h"
#include "usage/slurm/sacct.h"
#include "usage/slurm/sacct_steps.h"

static void join(const struct sacct *s)
{
	const struct stage_record record = { .job = { "120_7", 5 }, .raw_job = { "127", 3 } };
	struct stage_jobs *jobs = stage_jobs_new();

	FUZZ_CHECK(stage_jobs_add(jobs, &record) == 0);
	for (size_t i = 0; i < sacct_count(s); i++) {
		const struct sacct_job *job = sacct_get(s, i);

		FUZZ_CHECK(job->elapsed_ns >= -1 && job->max_rss_kb >= -1);
		FUZZ_CHECK(stage_jobs_account(jobs, job->id, job->state, job->elapsed_ns,
					      job->max_rss_kb) == 0);
	}
	FUZZ_CHECK(stage_jobs_count(jobs) <= sacct_count(s) + 1);
	for (size_t i = 0; i < stage_jobs_count(jobs); i++)
		FUZZ_CHECK(stage_job_mismatches[stage_job_mismatch(stage_jobs_get(jobs, i))]);
	stage_jobs_free(jobs);
}

static void check_steps(const struct buf *text, const struct rows *steps)
{
	const struct sacct_step *all = steps->data;

	for (size_t i = 0; i < steps->count; i++) {
		FUZZ_CHECK(all[i].id.len && all[i].id.ptr >= text->data);
		FUZZ_CHECK(all[i].id.ptr + all[i].id.len <= text->data + text->len);
		for (size_t k = 0; k < SACCT_FIELDS; k++)
			FUZZ_CHECK(all[i].values[k] >= -1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = { 0 };
	struct rows steps = { 0 };
	struct sacct *s;
	struct err e;

	buf_put(&text, data, size);
	if (sacct_read(text.data, size, &s, &e) == 0) {
		join(s);
		sacct_free(s);
	}
	if (sacct_steps_read(text.data, size, &steps, &e) == 0)
		check_steps(&text, &steps);
	rows_fini(&steps);
	buf_fini(&text);
	return 0;
}
