/* SPDX-License-Identifier: MIT */
/* stage_jobs_table: Slurm jobs as rows, their stage reports beside Slurm's accounting. */
#ifndef VIEW_TABLES_STAGE_JOBS_TABLE_H
#define VIEW_TABLES_STAGE_JOBS_TABLE_H

#include "base/err.h"
#include "model/stage_jobs.h"
#include "view/emit.h"
#include "view/tables/stage_table.h"

/* Puts a head and rows into an emitter that has begun: those in doubt first, then the longest.
 * limit: rows; 0: all. */
int stage_jobs_table(struct emit *out, const struct stage_jobs *jobs,
		     const struct stage_inputs *inputs, size_t limit, struct err *e) MUST_CHECK;

#endif
