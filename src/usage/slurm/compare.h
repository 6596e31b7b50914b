/* SPDX-License-Identifier: MIT */
/*
 * compare: Slurm's accounting of a job next to the metrics of auger stat for the command in it and
 * those of its control group, and why they differ.
 */
#ifndef USAGE_SLURM_COMPARE_H
#define USAGE_SLURM_COMPARE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "usage/slurm/sacct_steps.h"

#define SACCT_PAIRS 16

/* A field of sacct's and the metric of auger stat that is most like it. */
struct sacct_pair {
	const char *field, *unit; /* literals */
	const char *metric;       /* literal; NULL: none is like it */
	int64_t slurm, own;       /* -1: absent */
	int64_t cgroup;           /* of the control group; -1: absent */
	char why[160];          /* Slurm's and ours differ; "": they do not, or nothing is known */
	const char *cgroup_why; /* likewise of the group's and ours: a literal */
};

/* All zero is none. */
struct sacct_comparison {
	struct buf step, state; /* of the step that was chosen; end with a NUL */
	struct sacct_pair pairs[SACCT_PAIRS];
};

/* job: "123", "123.0", "123.batch", or a file ("-": standard input) that sacct -P printed. metrics:
 * a file of auger stat -f json; NULL: none. */
int sacct_compare(const char *job, const char *metrics, struct sacct_comparison *ret,
		  struct err *e) MUST_CHECK;
void sacct_comparison_fini(struct sacct_comparison *c);

#endif
