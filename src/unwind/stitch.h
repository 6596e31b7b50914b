/* SPDX-License-Identifier: MIT */
/*
 * stitch: extends a truncated stack with outer frames that the same thread showed before.
 *
 * The outer frames of a thread change rarely. For the last known stack of a thread, each caller's
 * (sp, pc) is kept. If a later copy ends in a frame with the same sp and pc, and so do the frames
 * before it, that frame was most likely never left; its callers are then the known ones.
 *
 * Code that reaches the same depth on several paths, such as a recursion with two call sites,
 * breaks this rule. So the rule learns: if two stacks of a thread agree in a frame and differ in
 * its caller, the pc of that frame is ambiguous from then on. Copies stay truncated when they end
 * at an ambiguous pc or would get a frame with one.
 */
#ifndef UNWIND_STITCH_H
#define UNWIND_STITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

#define STITCH_RUN 4      /* frames at the end of a copy that must agree, if it has as many */
#define STITCH_DOUBTS 256 /* pcs that prove nothing; with more, a thread is not stitched */
#define STITCH_DOUBT_SLOTS (2 * STITCH_DOUBTS)

/* What is known of one thread. All zero is a thread that nothing is known of. */
struct stitch {
	struct unwind_frame *frames; /* [count] callers, innermost first, sp growing; owned */
	uint32_t count, cap;
	uint64_t *doubts; /* [STITCH_DOUBT_SLOTS] open addressing, 0: free; owned; NULL: none */
	uint32_t doubt_count;
	uint32_t extended; /* stacks since the last that came complete */
	uint32_t readings; /* the user's: of outer frames elsewhere */
	bool is_branched;  /* the user's: outer frames that were found elsewhere were ambiguous */
};

void stitch_fini(struct stitch *s);

/*
 * Call for every stack of the thread, in time order. A complete stack is remembered. To a
 * truncated one the missing frames are appended when they are known: then true, and end is
 * UNWIND_COMPLETE, or UNWIND_FULL when its room ended first. When memory runs out, less is
 * known.
 */
bool stitch_stack(struct stitch *s, struct unwind_stack *stack);

/* Is the pc of one of these frames ambiguous? */
bool stitch_is_ambiguous(const struct stitch *s, const struct unwind_frame *frames, uint32_t count);

#endif
