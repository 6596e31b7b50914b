/* SPDX-License-Identifier: MIT */
#include "model/stage_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/rows.h"
#include "base/str.h"

#define SECOND INT64_C(1000000000)
#define SLURM_STEP (2 * SECOND) /* it counts whole seconds */
#define SMALL_KB 16384          /* of memory: no doubt about less */

const char *const stage_job_mismatches[] = {
	[JOB_AGREES] = "",
	[JOB_HAS_NO_REPORT] = "no report",
	[JOB_IS_NOT_ACCOUNTED] = "not known to Slurm",
	[JOB_TOO_LONG] = "reports take longer than the job",
	[JOB_MUCH_OUTSIDE] = "much time in no report",
	[JOB_PEAK_MISSED] = "Slurm missed the peak",
	[JOB_MORE_MEMORY] = "more memory than in reports",
};

struct stage_jobs {
	struct strtab *ids;    /* the index of a job is its id */
	struct rows jobs;      /* struct stage_job */
	struct strtab *arrays; /* "120" of those "120_7" that have reports */
	struct strtab *raws;   /* the numbers that tasks of arrays have as well */
	struct map by_raw;     /* id in raws to index of job */
	uint64_t without;
};

static struct stage_job *job_at(const struct stage_jobs *j, size_t i)
{
	return (struct stage_job *)j->jobs.data + i;
}

struct stage_jobs *stage_jobs_new(void)
{
	struct stage_jobs *j = calloc(1, sizeof *j);

	if (!j)
		return NULL;
	j->ids = strtab_new();
	j->arrays = strtab_new();
	j->raws = strtab_new();
	if (!j->ids || !j->arrays || !j->raws) {
		stage_jobs_free(j);
		return NULL;
	}
	return j;
}

void stage_jobs_free(struct stage_jobs *j)
{
	if (!j)
		return;
	strtab_free(j->ids);
	strtab_free(j->arrays);
	strtab_free(j->raws);
	map_fini(&j->by_raw);
	rows_fini(&j->jobs);
	free(j);
}

static struct str array_of(struct str id)
{
	const char *bar = memchr(id.ptr, '_', id.len);

	return (struct str){ id.ptr, bar ? (size_t)(bar - id.ptr) : 0 };
}

static struct stage_job *job_of(struct stage_jobs *j, struct str id)
{
	uint32_t index = strtab_intern(j->ids, id.ptr, id.len);
	struct stage_job *job;

	if (index == STRTAB_NONE)
		return NULL;
	if (index < j->jobs.count)
		return job_at(j, index);
	job = rows_add(&j->jobs, sizeof *job);
	if (job)
		*job = (struct stage_job){ .id = strtab_get(j->ids, index),
					   .rss_peak_kb = -1,
					   .elapsed_ns = -1,
					   .max_rss_kb = -1 };
	return job;
}

/* A task of an array: by its array, and by its own number. */
static int note_task(struct stage_jobs *j, const struct stage_record *r, uint32_t job)
{
	struct str array = array_of(r->job);
	uint32_t raw;

	if (!array.len)
		return 0;
	if (strtab_intern(j->arrays, array.ptr, array.len) == STRTAB_NONE)
		return -ENOMEM;
	if (!r->raw_job.len)
		return 0;
	raw = strtab_intern(j->raws, r->raw_job.ptr, r->raw_job.len);
	return raw == STRTAB_NONE ? -ENOMEM : map_put(&j->by_raw, raw, job);
}

int stage_jobs_add(struct stage_jobs *j, const struct stage_record *r)
{
	struct stage_job *job;

	if (!r->job.len) {
		j->without++;
		return 0;
	}
	job = job_of(j, r->job);
	if (!job || note_task(j, r, (uint32_t)(job - job_at(j, 0))) < 0)
		return -ENOMEM;
	job->records++;
	if (__builtin_add_overflow(job->wall_ns, r->total_wall_ns, &job->wall_ns))
		job->wall_ns = INT64_MAX;
	if (r->has_rss_peak && r->rss_peak_kb > job->rss_peak_kb)
		job->rss_peak_kb = r->rss_peak_kb;
	if (r->start_ns > 0) {
		int64_t end;

		if (__builtin_add_overflow(r->start_ns, r->total_wall_ns, &end))
			end = INT64_MAX;
		if (!job->start_ns || r->start_ns < job->start_ns)
			job->start_ns = r->start_ns;
		if (end > job->end_ns)
			job->end_ns = end;
	}
	return 0;
}

/* Slurm without a database knows tasks of arrays by their own number only. */
static uint32_t find_raw(const struct stage_jobs *j, struct str id)
{
	uint32_t raw = strtab_find(j->raws, id.ptr, id.len);

	return raw == STRTAB_NONE ? MAP_NONE : map_get(&j->by_raw, raw);
}

int stage_jobs_account(struct stage_jobs *j, struct str id, struct str state, int64_t elapsed_ns,
		       int64_t max_rss_kb)
{
	struct str array = array_of(id);
	bool is_known = strtab_find(j->ids, id.ptr, id.len) != STRTAB_NONE;
	bool is_lost = array.len && strtab_find(j->arrays, array.ptr, array.len) != STRTAB_NONE;
	uint32_t raw = is_known ? MAP_NONE : find_raw(j, id);
	struct stage_job *job;

	if (!is_known && !is_lost && raw == MAP_NONE)
		return 0;
	job = raw != MAP_NONE ? job_at(j, raw) : job_of(j, id);
	if (!job)
		return -ENOMEM;
	job->is_accounted = true;
	job->elapsed_ns = elapsed_ns;
	job->max_rss_kb = max_rss_kb;
	job->state = state;
	return 0;
}

size_t stage_jobs_count(const struct stage_jobs *j)
{
	return j->jobs.count;
}

const struct stage_job *stage_jobs_get(const struct stage_jobs *j, size_t i)
{
	return job_at(j, i);
}

uint64_t stage_jobs_without(const struct stage_jobs *j)
{
	return j->without;
}

int64_t stage_job_covered(const struct stage_job *job)
{
	return job->start_ns ? job->end_ns - job->start_ns : job->wall_ns;
}

static bool is_over(struct str state)
{
	static const char *const words[] = { "PENDING", "RUNNING", "SUSPENDED", "REQUEUED" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_starts_with(state, words[i]))
			return false;
	return true;
}

enum stage_job_mismatch stage_job_mismatch(const struct stage_job *job)
{
	double covered = (double)stage_job_covered(job), elapsed = (double)job->elapsed_ns;
	double slurm_kb = (double)job->max_rss_kb, peak_kb = (double)job->rss_peak_kb;

	if (!job->records)
		return is_over(job->state) ? JOB_HAS_NO_REPORT : JOB_AGREES;
	if (!job->is_accounted)
		return JOB_IS_NOT_ACCOUNTED;
	if (elapsed >= 0 && covered > 1.01 * elapsed + SLURM_STEP)
		return JOB_TOO_LONG;
	if (elapsed >= 0 && covered < 0.8 * elapsed && elapsed - covered >= SLURM_STEP)
		return JOB_MUCH_OUTSIDE;
	if (slurm_kb < 0 || peak_kb < 0)
		return JOB_AGREES;
	if (peak_kb > 1.1 * slurm_kb + SMALL_KB)
		return JOB_PEAK_MISSED;
	return slurm_kb > 1.25 * peak_kb + SMALL_KB ? JOB_MORE_MEMORY : JOB_AGREES;
}
