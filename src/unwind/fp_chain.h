/* SPDX-License-Identifier: MIT */
/*
 * links: the outer frames of a stack whose copy ended too early, from the chain of frame
 * pointers that the kernel followed when it took the copy.
 *
 * A chain tells return addresses, but not where they lay, and passes over every function that
 * keeps no frame pointer. Both are made good here. Within the copy we follow the same chain,
 * which tells where each of its words lay, up to the first one behind the end. That one is the
 * return address of the stack's last frame if, by the tables, this frame keeps the frame
 * pointer that the chain has come to. From there on each word is the return address of the frame
 * before as long as the tables say of that frame, too, that it keeps a frame pointer and where.
 * Source: arch/x86/events/core.c, arch/arm64/kernel/stacktrace.c of the kernel.
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
