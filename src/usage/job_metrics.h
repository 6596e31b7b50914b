/* SPDX-License-Identifier: MIT */
/* job_metrics: what a job used, as metrics and processes to be shown. */
#ifndef USAGE_JOB_METRICS_H
#define USAGE_JOB_METRICS_H

#include "base/buf.h"
#include "model/stat.h"
#include "usage/jobstat.h"

/* Those of /usr/bin/time -v first, in its units. How many: always the same. */
size_t job_metrics(const struct job *j, struct stat_metric ret[STAT_MAX_METRICS]);

/* Where the elapsed time went, in one line: on a CPU, ready without one, waiting. */
void job_verdict(const struct job *j, struct buf *to);

/* *ret: [j->tree.processes.count], the caller's; its texts are j's. */
int job_processes(const struct job *j, struct stat_process **ret, struct err *e) MUST_CHECK;

#endif
