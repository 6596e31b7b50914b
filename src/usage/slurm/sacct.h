/* SPDX-License-Identifier: MIT */
/*
 * sacct: reads the accounting of jobs, as "sacct -P" prints it.
 *
 * The first line names the columns, "|" stands between them. JobID must be there; State, Elapsed
 * or ElapsedRaw, and MaxRSS are used. Steps ("120_7.batch") belong to their job: a job's memory is
 * that of the step that had most.
 *
 * Source: sacct(1), Slurm 22.05.
 */
#ifndef USAGE_SLURM_SACCT_H
#define USAGE_SLURM_SACCT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/strtab.h"

/* What to do where Slurm's programs fail. */
#define SACCT_REMEDY "--sacct FILE takes what it printed elsewhere"

struct sacct_job {
	struct str id;      /* "123", "120_7"; borrowed from the table */
	struct str state;   /* "COMPLETED", "CANCELLED by 0"; len 0: unknown */
	int64_t elapsed_ns; /* -1: unknown */
	int64_t max_rss_kb; /* -1: unknown, as of steps that ended before the first sample */
};

struct sacct;

/* text: [0..len), borrowed for the life of the table. -EINVAL: "line N: reason". */
int sacct_read(const char *text, size_t len, struct sacct **ret, struct err *e) MUST_CHECK;
void sacct_free(struct sacct *s); /* NULL is allowed */

size_t sacct_count(const struct sacct *s);
const struct sacct_job *sacct_get(const struct sacct *s, size_t i); /* in order of the text */

#endif
