/* SPDX-License-Identifier: MIT */
/*
 * stitch: the outer frames of a stack whose copy ended too early, from what the same thread
 * showed before.
 *
 * A thread's outer frames change seldom. Of its last known stack we keep where each caller's
 * frame starts and what it was doing: (sp, pc). When a later copy ends in a frame with the
 * same sp and the same pc as one of those, and so do the frames before it, then that frame
 * was most likely never left, and above it is what was there.
 *
 * "Most likely" is not enough for code that comes to the same depth on several ways, as a
 * recursion with two calls does. Nothing in such a copy tells one way from the other. So we
 * learn where it happens: whenever two stacks of a thread agree in a frame and differ in its
 * caller, the pc of that frame proves nothing any more in this thread, and copies that end
 * there stay truncated.
 */
#ifndef UNWIND_STITCH_H
#define UNWIND_STITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

#define STITCH_RUN 4      /* frames at the end of a copy that must agree, if it has as many */
#define STITCH_DOUBTS 256 /* pcs that prove nothing; with more, a thread is not stitched */

/* What is known of one thread. All zero is a thread that nothing is known of. */
struct stitch {
	struct unwind_frame *frames; /* [count] callers, innermost first, sp growing; owned */
	uint32_t count, cap;
	uint64_t *doubts; /* [2 * STITCH_DOUBTS] open addressing, 0: free; owned; NULL: none */
	uint32_t doubt_count;
};

void stitch_fini(struct stitch *s);

/*
 * Call for every stack of the thread, in time order. A complete stack is remembered. To a
 * truncated one the missing frames are appended when they are known: then true, and end is
 * UNWIND_COMPLETE, or UNWIND_FULL when its room ended first. When memory runs out, less is
 * known.
 */
bool stitch_stack(struct stitch *s, struct unwind_stack *stack);

#endif
