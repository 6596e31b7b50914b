/* SPDX-License-Identifier: MIT */
/*
 * splice: the outer frames of a stack whose copy ended too early, from what the same thread
 * showed before.
 *
 * A thread's outer frames change seldom. Of the last known stack of a thread we keep each
 * frame's (sp, pc). When a later copy ends, and its last frame has the same sp and the same
 * pc as one of those, that frame was most likely never left, and what lay above still does.
 *
 * "Most likely" is not enough for code that comes to the same depth on several ways (a
 * recursion with two calls). Nothing in such a copy tells one way from the other, so we
 * learn where it happens: whenever two stacks of the thread agree in a frame and differ
 * above it, the pc of that frame proves nothing any more in this thread, and copies that
 * end there stay truncated. Also, a copy must agree with what is known in its last
 * SPLICE_RUN frames (or all of them), not in one.
 */
#ifndef UNWIND_SPLICE_H
#define UNWIND_SPLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

#define SPLICE_RUN 4      /* frames at the end of a copy that must agree */
#define SPLICE_DOUBTS 256 /* pcs that prove nothing; more: this thread is not spliced */

/* What is known of one thread. All zero is a thread that nothing is known of. */
struct splice {
	struct unwind_frame *frames; /* [count], innermost first, sp growing; owned */
	uint32_t count, cap;
	uint64_t *doubts; /* [SPLICE_DOUBTS] open addressing, 0: free; owned; NULL: none */
	uint32_t doubt_count;
};

void splice_fini(struct splice *s);

/*
 * Call for every stack of the thread, in time order. A complete stack is remembered. To a
 * truncated one the missing frames are appended when they are known: then true, and end is
 * UNWIND_COMPLETE (or UNWIND_FULL when cap is too small). Out of memory: forgets.
 */
bool splice_stack(struct splice *s, struct unwind_stack *stack);

#endif
