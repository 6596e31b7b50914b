/* SPDX-License-Identifier: MIT */
/* probe: the finding of a check, and helpers that run programs and calls with a deadline.
 */
#ifndef DOCTOR_PROBE_H
#define DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"

#define DOCTOR_TIMEOUT_NS (5 * NS_PER_S)

enum doctor_state {
	DOCTOR_WORKS,
	DOCTOR_PARTLY,
	DOCTOR_FAILS,
};
extern const char *const doctor_states[]; /* "works", "partly", "fails" */

/* One line each; texts of other programs may have control characters. */
struct doctor_finding {
	enum doctor_state state;
	char found[256];
	char remedy[384]; /* "": works, or no remedy exists */
	bool bad;         /* memory ran out; no other field is set */
};

/* Sets the finding. remedy: literal text, "": none. */
void doctor_report(struct doctor_finding *f, enum doctor_state state, const char *remedy,
		   const char *fmt, ...) PRINTF(4, 5);

/* Reports a failure. e has the form "FOUND; needs REMEDY". */
void doctor_report_failure(struct doctor_finding *f, const struct err *e);

/* Reads the start of a file, ending with NUL. false: unreadable, with errno. */
bool doctor_read(const char *path, char *text, size_t size);

/* Is a program of this name on the PATH? */
bool doctor_has_program(const char *name);

/*
 * Runs a program and keeps the start of its standard output. Returns its exit status; 127: not
 * found; -1: killed at the deadline.
 */
int doctor_run(const char *const *argv, char *text, size_t size);

/* Calls a function in a child. Returns its result, 0..125; 255: killed at the deadline. */
int doctor_run_child(int (*call)(void));

#endif
