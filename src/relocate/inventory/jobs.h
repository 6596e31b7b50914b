/* SPDX-License-Identifier: MIT */
/* jobs: finds the processes of a job. All functions add to rows of pid_t, each pid once. */
#ifndef RELOCATE_INVENTORY_JOBS_H
#define RELOCATE_INVENTORY_JOBS_H

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "relocate/inventory/top_dir.h"

#define JOBS_MANAGER "slurmstepd" /* the name of Slurm's process for each step */

/* "12,345" */
int jobs_parse(const char *list, struct rows *pids, struct err *e) MUST_CHECK;

/* The processes of a Slurm job on this host: those in its control group, else those that `scontrol
 * listpids` prints. with_manager: and their parents JOBS_MANAGER. -ESRCH: none. */
int jobs_find_slurm(const char *id, bool with_manager, struct rows *pids, struct err *e) MUST_CHECK;

/* All other processes that use OLD. */
int jobs_find_users(const struct top_dir *old_dir, struct rows *pids, struct err *e) MUST_CHECK;

#endif
