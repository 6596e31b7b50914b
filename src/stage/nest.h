/* SPDX-License-Identifier: MIT */
/*
 * nest: begins and ends in one context: the hot path, which is also why the public begins and ends
 * are here.
 *
 * A token is the context's id and a serial number, so the end of another thread's stage, a second
 * end, and ends in the wrong order are told apart. Peaks: see wire/peaks.h; what happened before
 * a begin is told to the peaks at that begin, so windows nest without cutting each other.
 */
#ifndef STAGE_NEST_H
#define STAGE_NEST_H

#include "stage/profiler.h"

/* The innermost open stage with this name. */
void nest_end_name(struct auger_context *c, struct shard *s, uint32_t name);

/* Ends all that is open, each with an error. Does not ask the source. */
void nest_end_all(struct auger_context *c, struct shard *s);

/*
 * For reports, by any thread. Reads all but the source, as an end does; own, the shard of the
 * calling thread, may be NULL: then its group and its allocations are not set.
 */
void nest_read_now(struct auger_profiler *p, struct shard *own, struct boundary *ret);

/* Makes a copy of a frame that was open at the last reset begin there. The lock is held. */
void nest_cut_copy(const struct auger_profiler *p, struct frame *f);

/* What an open stage (a copy of its frame) cost so far. own: the shard that now was read for. */
void nest_call_so_far(const struct auger_profiler *p, const struct frame *f,
		      const struct boundary *now, const struct shard *own, struct call *ret);

#endif
