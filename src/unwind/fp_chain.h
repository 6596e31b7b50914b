/* SPDX-License-Identifier: MIT */
/*
 * fp_chain: extends a truncated stack with the chain of frame pointers that the kernel followed
 * when it copied the stack.
 *
 * The kernel's chain has return addresses but not their stack addresses, and it skips functions
 * without a frame pointer. The copy supplies both: it is followed along the same chain, up to the
 * first frame pointer beyond its end. The next return address of the chain belongs to the last
 * frame of the stack if, by the tables, that frame keeps the frame pointer reached. Each further
 * address is the return address of the frame before, as long as the tables say that this frame
 * keeps a frame pointer, and where.
 *
 * Source: kernel, arch/x86/events/core.c, arch/arm64/kernel/stacktrace.c.
 */
#ifndef UNWIND_FP_CHAIN_H
#define UNWIND_FP_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

/* The user's part of a call chain: the instruction, then return addresses. */
struct fp_chain {
	const unsigned char *words; /* [8 * count], little-endian, of any alignment; borrowed */
	size_t count;
};

/*
 * Appends to a truncated stack, as unwind_walk() left it with these registers and this copy.
 * Their sp is 0: unknown. The end becomes UNWIND_COMPLETE if the outermost frame is reached,
 * UNWIND_FULL when there is no room; else it stays truncated. true: something was appended.
 */
bool fp_chain_extend(struct unwind_walker *w, const struct unwind_space *space,
		     const struct unwind_regs *regs, struct unwind_memory *copy,
		     const struct fp_chain *links, struct unwind_stack *stack);

#endif
