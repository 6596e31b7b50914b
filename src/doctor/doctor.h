/* SPDX-License-Identifier: MIT */
/*
 * doctor: what works on this machine, found out by trying it.
 *
 * Each check does what a recording would do (opens the event, loads the program, mounts) and
 * undoes it; what it cannot undo it does in a child that ends. None takes long: programs of
 * others are asked for at most DOCTOR_PATIENCE_NS.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"

#define DOCTOR_PATIENCE_NS (5 * NS_PER_S)

enum doctor_state {
	DOCTOR_WORKS,
	DOCTOR_PARTLY,
	DOCTOR_FAILS,
};
extern const char *const doctor_states[]; /* "works", "partly", "fails" */

/* One line each; control characters may be in words of others. */
struct doctor_finding {
	enum doctor_state state;
	char found[256];
	char remedy[384]; /* "": works, or nothing can be done */
	bool bad;         /* memory ran out: nothing was found */
};

struct doctor_check {
	const char *name;
	const char *serves; /* what works with it */
	void (*probe)(struct doctor_finding *f);
};

/* In the order in which they are shown; the last has no name. */
extern const struct doctor_check doctor_checks[];

#endif
