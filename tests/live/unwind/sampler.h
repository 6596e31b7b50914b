/* SPDX-License-Identifier: MIT */
/*
 * sampler: samples of the program it is linked into, as the kernel would take them.
 *
 * A timer signal stops a thread anywhere. Its handler copies the registers and the innermost
 * bytes of the stack, as perf_event does, and the unwinder walks the copy. Stacks are kept, to
 * be judged when the work is done.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/walk.h"

#define SAMPLER_DEPTH 12000 /* frames of a stack at most */

struct sampler_stack {
	const struct unwind_frame *frames; /* [count] */
	uint32_t count;
	uint32_t thread; /* 0, 1, ... in order of sampler_start */
	enum unwind_end end;
	uint32_t guessed;
};

/* Makes the tables. copied: bytes of each stack. 0, or -1 with words on standard error. */
int sampler_open(size_t copied);

/* Code came or went. What was known before is kept for walks that are under way. */
int sampler_renew(void);

/* Forgets the stacks, and takes copies of this size from now on. */
void sampler_clear(size_t copied);

/* The calling thread is sampled from now on, or no more. */
void sampler_start(void);
void sampler_stop(void);

size_t sampler_count(void);
const struct sampler_stack *sampler_get(size_t index); /* in time order for each thread */

#endif
