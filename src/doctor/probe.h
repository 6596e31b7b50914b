/* SPDX-License-Identifier: MIT */
/* probe: what every check of the doctor uses: its finding, and programs and calls with a deadline.
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

/* One line each; control characters may be in words of others. */
struct doctor_finding {
	enum doctor_state state;
	char found[256];
	char remedy[384]; /* "": works, or nothing can be done */
	bool bad;         /* memory ran out: nothing was found */
};

/* The finding in words. remedy: the words as they are, "" none. */
void doctor_report(struct doctor_finding *f, enum doctor_state state, const char *remedy,
		   const char *fmt, ...) PRINTF(4, 5);

/* What does not work, in words of the form "FOUND; needs REMEDY". */
void doctor_report_failure(struct doctor_finding *f, const struct err *e);

/* The start of a file, with a NUL behind. false: it cannot be read, errno tells why. */
bool doctor_read(const char *path, char *text, size_t size);

/* Is a program of this name on the PATH? */
bool doctor_has_program(const char *name);

/*
 * Runs a program and takes the start of what it prints on standard output. Its exit status; 127:
 * there is none of this name; -1: it took too long, and was killed.
 */
int doctor_run(const char *const *argv, char *text, size_t size);

/* Calls it in a child of its own: what it returns, 0..125; 255 when it took too long. */
int doctor_run_child(int (*call)(void));

#endif
