/* SPDX-License-Identifier: MIT */
/* scale_runs: several copies of a command at once, step by step: measured runs, and sampled ones.
 */
#ifndef USAGE_SCALE_RUNS_H
#define USAGE_SCALE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "model/scale.h"
#include "usage/copies.h"

#define SCALE_STEPS_MAX 32

struct scale_runs {
	char *const *argv;
	uint64_t rounds;
	const struct cpulist *pins;               /* NULL: copies run anywhere */
	struct scale_step steps[SCALE_STEPS_MAX]; /* [step_count] */
	size_t step_count;
	struct profile *profiles[SCALE_STEPS_MAX]; /* NULL: nothing could be sampled; owned */
	int status;                                /* of a copy that failed, the last */
	bool is_over;                              /* a signal ended the runs */
	int exec_error; /* errno of a command that cannot be executed; 0: none */
};

/* A warm-up run, then all steps in turn in each round; sets the medians in steps. */
int scale_runs_measure(struct scale_runs *r, struct err *e) MUST_CHECK;

/* Runs each step once more and samples CPU time and page faults to profiles. When sampling is not
 * permitted, LOG_WARN reports it, and profiles are NULL. */
int scale_runs_record(struct scale_runs *r, struct err *e) MUST_CHECK;

/* CPUs that copies may use, in thousandths: of pins, or what a quota of the control group leaves.
 */
int scale_runs_cpus(const struct cpulist *allowed, int64_t *ret, struct err *e) MUST_CHECK;

void scale_runs_fini(struct scale_runs *r);

#endif
