/* SPDX-License-Identifier: MIT */
/* job_metrics: what a job used, as metrics and processes to be shown. */
#ifndef USAGE_JOB_METRICS_H
#define USAGE_JOB_METRICS_H

#include "model/stat.h"
#include "usage/jobstat.h"

/* Those of /usr/bin/time -v first, in its units. How many: always the same. */
size_t job_metrics(const struct job *j, struct stat_metric ret[STAT_MAX_METRICS]);

/* *ret: [j->tree.processes.count], the caller's; its texts are j's. */
int job_processes(const struct job *j, struct stat_process **ret, struct err *e) MUST_CHECK;

#endif
