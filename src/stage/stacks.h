/* SPDX-License-Identifier: MIT */
/*
 * stacks: writes a snapshot as a pprof profile.
 *
 * Labels become stacks of stage names; values exclude the stages inside. gzip blocks are stored,
 * not compressed: the profile is small, and this library links only libc. Sources: pprof's
 * profile.proto; RFC 1951, 1952.
 */
#ifndef STAGE_STACKS_H
#define STAGE_STACKS_H

#include "stage/snapshot.h"
#include "stage/text.h"

/* Returns the count of rows. Takes the profiler's lock. out remembers failure. */
uint32_t stacks_write(struct auger_profiler *p, struct text *out);

#endif
