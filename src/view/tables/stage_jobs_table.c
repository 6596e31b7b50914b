/* SPDX-License-Identifier: MIT */
#include "view/tables/stage_jobs_table.h"

#include <stdlib.h>
#include <string.h>

static int64_t length_of(const struct stage_job *job)
{
	int64_t covered = stage_job_covered(job);

	return job->elapsed_ns > covered ? job->elapsed_ns : covered;
}

static int compare_jobs(const void *left, const void *right)
{
	const struct stage_job *a = *(const struct stage_job *const *)left;
	const struct stage_job *b = *(const struct stage_job *const *)right;
	int a_doubt = stage_job_mismatch(a) != JOB_AGREES,
	    b_doubt = stage_job_mismatch(b) != JOB_AGREES;

	if (a_doubt != b_doubt)
		return b_doubt - a_doubt;
	if (length_of(a) != length_of(b))
		return length_of(a) < length_of(b) ? 1 : -1;
	return strcmp(a->id.ptr, b->id.ptr);
}

static void put_optional(struct emit *out, const char *key, bool is_there, int64_t value,
			 const char *unit)
{
	if (is_there)
		emit_value(out, key, value, unit);
	else
		emit_none(out, key);
}

static void put_state(struct emit *out, struct str state)
{
	char text[64];

	if (!state.len) {
		emit_none(out, "state");
		return;
	}
	if (state.len >= sizeof text)
		state.len = sizeof text - 1;
	memcpy(text, state.ptr, state.len);
	text[state.len] = '\0';
	emit_text(out, "state", text);
}

static void put_row(struct emit *out, const struct stage_job *job)
{
	enum stage_job_mismatch doubt = stage_job_mismatch(job);
	int64_t covered = stage_job_covered(job);

	put_optional(out, "elapsed_ns", job->elapsed_ns >= 0, job->elapsed_ns, "nanoseconds");
	put_optional(out, "reported_ns", job->records > 0, covered, "nanoseconds");
	emit_percent(out, "reported_percent", covered,
		     job->records && job->elapsed_ns > 0 ? job->elapsed_ns : 0);
	put_optional(out, "max_rss_bytes", job->max_rss_kb >= 0,
		     stage_value(STAGE_RSS_PEAK, job->max_rss_kb), "bytes");
	put_optional(out, "reported_rss_bytes", job->rss_peak_kb >= 0,
		     stage_value(STAGE_RSS_PEAK, job->rss_peak_kb), "bytes");
	emit_int(out, "records", (int64_t)job->records);
	emit_name(out, "job", "", job->id.ptr ? job->id.ptr : "", "");
	put_state(out, job->state);
	if (doubt != JOB_AGREES)
		emit_color(out, TABLE_BAD);
	emit_optional(out, "doubt", stage_job_mismatches[doubt]);
}

static void put_head(struct emit *out, const struct stage_jobs *jobs, size_t doubts,
		     const struct stage_inputs *inputs)
{
	emit_head_int(out, "files", (int64_t)inputs->files);
	emit_head_int(out, "jobs", (int64_t)stage_jobs_count(jobs));
	emit_head_int(out, "jobs_in_doubt", (int64_t)doubts);
	if (!stage_jobs_without(jobs))
		emit_hide(out);
	emit_head_int(out, "records_without_job", (int64_t)stage_jobs_without(jobs));
	if (!inputs->damaged)
		emit_hide(out);
	emit_head_int(out, "damaged_lines", (int64_t)inputs->damaged);
}

int stage_jobs_table(struct emit *out, const struct stage_jobs *jobs,
		     const struct stage_inputs *inputs, size_t limit, struct err *e)
{
	size_t count = stage_jobs_count(jobs), shown = limit && limit < count ? limit : count;
	const struct stage_job **rows = calloc(count + 1, sizeof *rows);
	const struct stage_job nothing = { 0 };
	size_t doubts = 0;

	if (!rows)
		return err_nomem(e);
	for (size_t i = 0; i < count; i++) {
		rows[i] = stage_jobs_get(jobs, i);
		doubts += stage_job_mismatch(rows[i]) != JOB_AGREES;
	}
	qsort(rows, count, sizeof *rows, compare_jobs);
	put_head(out, jobs, doubts, inputs);
	emit_columns(out);
	put_row(out, &nothing);
	for (size_t i = 0; i < shown; i++) {
		emit_row(out);
		put_row(out, rows[i]);
	}
	if (shown < count)
		emit_note(out, "%zu more rows; -n 0 shows all", count - shown);
	free(rows);
	return 0;
}
