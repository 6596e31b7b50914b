/* SPDX-License-Identifier: MIT */
/* stage_run: a command whose stages are measured, and the folder that its reports are in. */
#ifndef USAGE_STAGE_RUN_H
#define USAGE_STAGE_RUN_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"

extern const char *const stage_levels[]; /* "full", "time", NULL: for OPT_CHOICE */

struct stage_run {
	char folder[PATH_MAX]; /* of the reports, one file a process */
	bool is_temporary;
	int status; /* of the command, 128+N for signal N */
};

struct stage_run_opts {
	char *const *argv;  /* ends with NULL */
	const char *level;  /* one of stage_levels */
	const char *folder; /* for the reports, made when it is not there; NULL: a temporary one,
			     * until stage_run_fini */
	bool owns_stdout;   /* the command writes to standard error instead */
};

/*
 * Runs the command with AUGER_STAGES, AUGER_STAGES_OUT in the folder, and the heap counter
 * preloaded where it is installed. Interrupts and the request to end are the command's. One that
 * cannot be run is its errno.
 */
int stage_run(const struct stage_run_opts *o, struct stage_run *ret, struct err *e) MUST_CHECK;
void stage_run_fini(struct stage_run *r); /* removes a temporary folder; all zero is allowed */

#endif
