/* SPDX-License-Identifier: MIT */
/* report: a snapshot as one JSON object, without a line end. auger-stage(3) tells the keys. */
#ifndef STAGE_REPORT_H
#define STAGE_REPORT_H

#include "stage/snapshot.h"
#include "stage/text.h"

/* How many rows it has. Takes the profiler's lock. The failure is in out. */
uint32_t report_write(struct auger_profiler *p, struct text *out);

/* Is it a key of the report's top level that is written in any case? */
bool report_has_key(const struct auger_profiler *p, const char *key);

#endif
