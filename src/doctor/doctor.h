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

struct doctor_check {
	const char *name;
	const char *serves; /* the commands that need it */
	void (*probe)(struct doctor_finding *f);
};

/* In the order of the table; the last has no name. */
extern const struct doctor_check doctor_checks[];

#endif
