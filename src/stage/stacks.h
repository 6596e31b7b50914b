/* SPDX-License-Identifier: MIT */
/*
 * stacks: a snapshot as a profile of pprof, in gzip without compression: it is small, and this
 * library links nothing. Labels are stacks of stage names; values are a stage's own, without those
 * inside of it. Sources: pprof's profile.proto; RFC 1951, 1952.
 */
#ifndef STAGE_STACKS_H
#define STAGE_STACKS_H

#include "stage/snapshot.h"
#include "stage/text.h"

/* How many rows it has. Takes the profiler's lock. The failure is in out. */
uint32_t stacks_write(struct auger_profiler *p, struct text *out);

#endif
