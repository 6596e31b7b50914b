/* SPDX-License-Identifier: MIT */
#include "usage/stat_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "usage/job_metrics.h"

static int run(struct stat_runs *r, char *const *argv, struct job *job, struct err *e)
{
	bool is_no_exec;
	int rc = job_run(argv, job, &is_no_exec, e);

	if (rc < 0)
		r->is_no_exec = is_no_exec;
	else
		r->is_over = job->signal != 0;
	return rc;
}

static int run_line(struct stat_runs *r, const char *line, struct job *job, struct err *e)
{
	char shell[] = "sh", option[] = "-c";
	char *copy = strdup(line);
	char *const argv[] = { shell, option, copy, NULL };
	int rc = copy ? run(r, argv, job, e) : err_nomem(e);

	free(copy);
	return rc;
}

static int prepare(const struct stat_runs_opts *o, struct stat_runs *r, struct err *e)
{
	struct job job = { 0 };
	int rc;

	if (!o->prepare)
		return 0;
	rc = run_line(r, o->prepare, &job, e);
	if (rc == 0 && job.status && !r->is_over)
		rc = err_set(e, -ECANCELED, "'%s' prepares a run, and ended with status %d",
			     o->prepare, job.status);
	job_fini(&job);
	return rc;
}

static int add(struct stat_runs *r, size_t index, const struct job *job, struct err *e)
{
	struct stat_metric metrics[STAT_MAX_METRICS];
	struct stat_series *s = &r->series[index];

	if (job->status && (index == 0 || !r->status))
		r->status = job->status;
	s->failed_count += job->status != 0;
	return stat_series_add(s, metrics, job_metrics(job, metrics), e);
}

static int run_command(const struct stat_runs_opts *o, struct stat_runs *r, size_t index,
		       bool is_measured, struct err *e)
{
	struct job job = { 0 };
	int rc = prepare(o, r, e);

	if (rc < 0 || r->is_over)
		return rc;
	rc = index ? run_line(r, o->others[index - 1], &job, e) : run(r, o->argv, &job, e);
	if (rc == 0 && is_measured)
		rc = add(r, index, &job, e);
	if (rc == 0 && is_measured && index == 0) {
		job_fini(&r->last);
		r->last = job;
	} else {
		job_fini(&job);
	}
	return rc;
}

int stat_runs(const struct stat_runs_opts *o, struct stat_runs *ret, struct err *e)
{
	int rc = 0;

	*ret = (struct stat_runs){ .count = 1 + o->other_count };
	for (size_t i = 0; i < ret->count; i++)
		ret->series[i].command = i ? o->others[i - 1] : o->title;
	for (uint64_t run = 0; run < o->warmups + o->runs; run++)
		for (size_t i = 0; i < ret->count && rc == 0 && !ret->is_over; i++)
			rc = run_command(o, ret, i, run >= o->warmups, e);
	return rc;
}

void stat_runs_fini(struct stat_runs *r)
{
	job_fini(&r->last);
	for (size_t i = 0; i < r->count; i++)
		stat_series_fini(&r->series[i]);
}
