/* SPDX-License-Identifier: MIT */
/*
 * doctor: tries on this machine what the other commands need, and reports what works.
 *
 * Each check does what a command would do (opens the event, loads the program, mounts) and
 * undoes it; what it cannot undo runs in a child. Programs of others have a deadline of
 * DOCTOR_TIMEOUT_NS.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "doctor/probe.h"

enum doctor_weight {
	DOCTOR_NEEDED, /* without it the task fails */
	DOCTOR_USED,   /* without it the task lacks something */
	DOCTOR_EXTRA,  /* few need it: it does not count */
};
extern const char *const doctor_weights[]; /* "needed", "used", "extra" */

struct doctor_task {
	const char *name;
	const char *serves; /* the commands that need it */
};

struct doctor_check {
	const struct doctor_task *task;
	const char *name;
	const char *serves;
	void (*probe)(struct doctor_finding *f);
	enum doctor_weight weight;
};

/* By task, in the order of the table; the last has no name. */
extern const struct doctor_check doctor_checks[];

/* Adds the finding of a check to the sum of its task, which begins zeroed and gets no remedy: found
 * is that of the first check, or of the worst. */
void doctor_sum(struct doctor_finding *sum, const struct doctor_check *check,
		const struct doctor_finding *f);

#endif
