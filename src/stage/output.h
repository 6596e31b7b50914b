/* SPDX-License-Identifier: MIT */
/* output: writes reports to files and descriptors. */
#ifndef STAGE_OUTPUT_H
#define STAGE_OUTPUT_H

#include "stage/profiler.h"

/*
 * Writes the report to the profiler's out, if it has one and has stages. The registry's lock is
 * held. A failure is one line on stderr, once for the process. is_early: the program may go on, and
 * the next report replaces this one.
 */
void output_write_out(struct auger_profiler *p, bool is_early);

/* Prints "auger: WHAT: 'SUBJECT': REASON" on stderr; the first call only. */
void output_warn(const char *what, const char *subject, const char *reason);

#endif
