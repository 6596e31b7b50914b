/* SPDX-License-Identifier: MIT */
/* job_figures: what a job used, as figures and processes to be shown. */
#ifndef USAGE_JOB_FIGURES_H
#define USAGE_JOB_FIGURES_H

#include "model/stat.h"
#include "usage/jobstat.h"

/* Those of /usr/bin/time -v first, in its units. How many: always the same. */
size_t job_figures(const struct job *j, struct stat_figure ret[STAT_MAX_FIGURES]);

/* *ret: [j->tree.processes.count], the caller's; its texts are j's. */
int job_processes(const struct job *j, struct stat_process **ret, struct err *e) MUST_CHECK;

#endif
