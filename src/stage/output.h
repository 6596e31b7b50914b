/* SPDX-License-Identifier: MIT */
/* output: reports to files and descriptors. */
#ifndef STAGE_OUTPUT_H
#define STAGE_OUTPUT_H

#include "stage/profiler.h"

/*
 * To the profiler's out, if it has one and anything to say; under the registry's lock. A failure is
 * one line on stderr, once for the process. is_early: the program goes on, perhaps: what is written
 * next takes the place of this.
 */
void output_write_out(struct auger_profiler *p, bool is_early);

/* "auger: WHAT: 'SUBJECT': REASON" on stderr; the first time only. */
void output_warn(const char *what, const char *subject, const char *reason);

#endif
