/* SPDX-License-Identifier: MIT */
/* report: writes a snapshot as one JSON object without a newline. auger-stage(3) lists the keys. */
#ifndef STAGE_REPORT_H
#define STAGE_REPORT_H

#include "stage/snapshot.h"
#include "stage/text.h"

/* Returns the count of rows. Takes the profiler's lock. out remembers failure. */
uint32_t report_write(struct auger_profiler *p, struct text *out);

/* Is it a top-level key that every report has? */
bool report_has_key(const struct auger_profiler *p, const char *key);

#endif
