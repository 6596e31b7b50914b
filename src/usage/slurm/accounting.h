/* SPDX-License-Identifier: MIT */
/* accounting: joins Slurm's accounting, from a file or from sacct(1), to the jobs of reports. */
#ifndef USAGE_SLURM_ACCOUNTING_H
#define USAGE_SLURM_ACCOUNTING_H

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "model/stage_jobs.h"
#include "usage/slurm/sacct.h"

/* All zero is none. */
struct accounting {
	struct file_input file; /* of "FILE" */
	struct buf printed;     /* of "live" */
	struct sacct *sacct;
};

/* from: a file ("-": standard input), or "live": runs sacct(1) for these jobs. Jobs borrow
 * from ret until accounting_fini. */
int accounting_load(struct accounting *ret, const char *from, struct stage_jobs *jobs,
		    struct err *e) MUST_CHECK;
void accounting_fini(struct accounting *a);

#endif
