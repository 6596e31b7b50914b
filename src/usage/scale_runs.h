/* SPDX-License-Identifier: MIT */
/* stat_scale_runs: the runs of auger stat --scale: measured ones, and recorded ones. */
#ifndef USAGE_SCALE_RUNS_H
#define USAGE_SCALE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "usage/copies.h"
#include "view/tables/scale_table.h"

#define SCALE_STEPS_MAX 32
#define SCALE_FILES_MAX (SCALE_STEPS_MAX + 1) /* a profile each, and a picture */

struct scale_runs {
	char *const *argv;
	uint64_t rounds;
	const struct cpulist *pins;               /* NULL: copies run anywhere */
	struct scale_step steps[SCALE_STEPS_MAX]; /* [step_count] */
	size_t step_count;
	struct profile *profiles[SCALE_STEPS_MAX]; /* NULL: nothing could be sampled; owned */
	struct buf folder;                         /* where they go */
	bool is_folder_new;                        /* goes when nothing is written to it */
	char *files[SCALE_FILES_MAX];              /* [file_count] owned */
	size_t file_count;
	int status;   /* of a copy that failed, the last; 126, 127: it cannot be executed */
	bool is_over; /* we were told to end, or it cannot be executed */
};

/* A run that does not count, then all steps by turns in each round; the medians to steps. */
int scale_runs_measure(struct scale_runs *r, struct err *e) MUST_CHECK;

/* For what scale_runs_record() writes, before anything runs; NULL: a new one. */
int scale_runs_make_folder(struct scale_runs *r, const char *name, struct err *e) MUST_CHECK;

/* Once more, with samples of CPU time and page faults: profiles and a picture of the difference to
 * the folder. Where nothing can be sampled it says so, and there is none. */
int scale_runs_record(struct scale_runs *r, struct err *e) MUST_CHECK;

void scale_runs_fini(struct scale_runs *r);

#endif
