/* SPDX-License-Identifier: MIT */
/*
 * doctor: what works on this machine, found out by trying it.
 *
 * Each check does what a recording would do (opens the event, loads the program, mounts) and
 * undoes it; what it cannot undo it does in a child that ends. None takes long: programs of
 * others are asked for at most DOCTOR_TIMEOUT_NS.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "doctor/probe.h"

struct doctor_check {
	const char *name;
	const char *serves; /* what works with it */
	void (*probe)(struct doctor_finding *f);
};

/* In the order in which they are shown; the last has no name. */
extern const struct doctor_check doctor_checks[];

#endif
