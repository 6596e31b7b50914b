/* SPDX-License-Identifier: MIT */
/*
 * stage_jobs: combines the stage reports of each Slurm job and compares them with Slurm's
 * accounting.
 *
 * Reports with a start time cover the time from the first start to the last end; reports without
 * one are assumed to follow one another.
 */
#ifndef MODEL_STAGE_JOBS_H
#define MODEL_STAGE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/stages.h"

/* Where the two disagree. */
enum stage_job_mismatch {
	JOB_AGREES,
	JOB_HAS_NO_REPORT,    /* Slurm ran it */
	JOB_IS_NOT_ACCOUNTED, /* Slurm does not know it */
	JOB_TOO_LONG,         /* reports cover more time than the job had */
	JOB_MUCH_OUTSIDE,     /* a fifth of its time or more is in no report */
	JOB_PEAK_MISSED,      /* Slurm samples memory at intervals: it saw less than the reports */
	JOB_MORE_MEMORY,      /* Slurm saw much more memory than the reports */
};

/* [doubt]: in words; "" when they agree. */
extern const char *const stage_job_mismatches[];

struct stage_job {
	struct str id; /* "123", "120_7" */
	uint64_t records;
	int64_t wall_ns;                /* sum of the reports' totals */
	int64_t start_ns, end_ns;       /* CLOCK_REALTIME; 0: unknown */
	int64_t rss_peak_kb;            /* -1: unknown */
	int64_t elapsed_ns, max_rss_kb; /* of Slurm; -1: unknown */
	struct str state;               /* of Slurm; borrowed; len 0: unknown */
	bool is_accounted;
};

struct stage_jobs;

struct stage_jobs *stage_jobs_new(void) MUST_CHECK; /* NULL: out of memory */
void stage_jobs_free(struct stage_jobs *j);

/* A report; without a job it only counts. 0 or -ENOMEM. */
int stage_jobs_add(struct stage_jobs *j, const struct stage_record *r) MUST_CHECK;

/* Slurm's accounting. Jobs without a report are kept when others of their array have one. 0 or
 * -ENOMEM. */
int stage_jobs_account(struct stage_jobs *j, struct str id, struct str state, int64_t elapsed_ns,
		       int64_t max_rss_kb) MUST_CHECK;

size_t stage_jobs_count(const struct stage_jobs *j);
const struct stage_job *stage_jobs_get(const struct stage_jobs *j, size_t i);
uint64_t stage_jobs_without(const struct stage_jobs *j); /* reports without a job */

/* Time that the reports cover. */
int64_t stage_job_covered(const struct stage_job *job);
enum stage_job_mismatch stage_job_mismatch(const struct stage_job *job);

#endif
