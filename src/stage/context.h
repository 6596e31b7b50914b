/* SPDX-License-Identifier: MIT */
/*
 * context: begins and ends stages in one context. This is the hot path, so the public begin and end
 * functions are in this module.
 *
 * A token is the context's id and a serial number: it distinguishes the end of another thread's
 * stage, a second end, and ends in the wrong order. Each begin first adds what came before it to
 * the peaks (wire/peaks.h), so nested stages have peaks of their own.
 */
#ifndef STAGE_CONTEXT_H
#define STAGE_CONTEXT_H

#include "stage/profiler.h"

/* Ends the innermost open stage with this name. */
void context_end_name(struct auger_context *c, struct shard *s, uint32_t name);

/* Ends all open stages, each as an error. Does not read the source. */
void context_end_all(struct auger_context *c, struct shard *s);

/*
 * Takes a reading for a report, without the source; any thread may call. own: the shard of the
 * calling thread; NULL: the values of a thread are not set.
 */
void context_read_now(struct auger_profiler *p, struct shard *own, struct reading *ret);

/* Moves the begin of a copied frame to the last reset, if it was open then. The lock is held. */
void context_reset_frame(const struct auger_profiler *p, struct frame *f);

/* The cost so far of an open stage (a copy of its frame). own: the shard that now belongs to. */
void context_open_call(const struct auger_profiler *p, const struct frame *f,
		       const struct reading *now, const struct shard *own, struct call *ret);

#endif
