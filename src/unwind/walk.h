/* SPDX-License-Identifier: MIT */
/*
 * walk: unwinds from the registers and the stack of a stopped thread to its return addresses.
 *
 * Unwinding tables give the rule for each frame. Code without a rule (JIT code, or a gap in a
 * table) is unwound by the frame pointer where that is plausible; then the tables take over again.
 * A walk always ends: the stack pointer grows with each frame, except for a bounded number of
 * signal frames. It takes no lock, allocates no memory and calls only the memory's read, so it may
 * run in a signal handler.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/lookup.h"
#include "unwind/memory.h"
#include "unwind/table.h"

/* An executable mapping. Non-executable ones have no place here. */
struct unwind_map {
	uint64_t start, end;              /* [start..end) */
	uint64_t bias;                    /* address - bias is the table's vaddr: elf_load_bias() */
	const struct unwind_table *table; /* borrowed; NULL: by lookup */
	struct unwind_lookup *lookup;     /* likewise; NULL, too: rule, or frame pointers only */
	const struct unwind_rule *rule;   /* of all of its code; NULL: none */
};

/* All code of a process at a time. Read-only while walks use it. */
struct unwind_space {
	const struct unwind_map *maps; /* [count], sorted by start, none overlaps */
	uint32_t count;
	uint16_t machine; /* EM_X86_64, EM_AARCH64; the tables' too */
	/* Names this content for the walker's cache: never 0, and never the number of another
	 * content or of freed tables. unwind_space_version() gives fresh ones. */
	uint64_t version;
};

uint64_t unwind_space_version(void); /* thread-safe */

/* The mapping that has address, NULL: none. */
const struct unwind_map *unwind_space_find(const struct unwind_space *space, uint64_t address);

/* Registers by DWARF number; sp must be known. On x86-64 rbp should be, rbx and the other
 * general ones help in a few functions; on AArch64 x29 and x30 should be. */
struct unwind_regs {
	uint64_t ip;
	uint64_t r[UNWIND_REG_COUNT]; /* those of known, the rest is undefined */
	uint32_t known;               /* bit n: r[n] */
};

static inline void unwind_regs_set(struct unwind_regs *regs, unsigned number, uint64_t value)
{
	regs->r[number] = value;
	regs->known |= UINT32_C(1) << number;
}

/* pc: for the first frame and for interrupted ones the instruction; for callers the return
 * address less one, so that it lies in the call, but not for what a signal handler returns to,
 * which did not call it. sp: its stack pointer there; for callers, the CFA of what they called. */
struct unwind_frame {
	uint64_t pc, sp;
};

/* Why a walk ended; "the frame" is the last one. */
enum unwind_end {
	UNWIND_COMPLETE,  /* it is the outermost: described so, or called from address 0 */
	UNWIND_TRUNCATED, /* the memory that has its return address is not there */
	UNWIND_NO_INFO,   /* there is no rule for it */
	UNWIND_BROKEN,    /* leaving it leads to no code, or back down the stack */
	UNWIND_FULL,      /* no room for its caller */
};

struct unwind_stack {
	struct unwind_frame *frames; /* [cap], first the innermost; the caller's */
	uint32_t cap;                /* at least 1 */
	uint32_t count;              /* at least 1 after a walk */
	enum unwind_end end;
	uint32_t guessed; /* frames that were left without a description */
	uint64_t fp;      /* the frame pointer in the last frame; 0: not known */
};

/* One remembered answer; all zero is an empty one. */
struct unwind_slot {
	uint64_t pc;
	uint64_t version; /* of the space */
	const struct unwind_rule *rule;
};

#define UNWIND_SLOTS 16384 /* a good number for whole machines: 384 KiB */

/* One walk at a time. */
struct unwind_walker {
	struct unwind_slot *slots; /* [mask + 1], direct-mapped; the caller's */
	uint32_t mask;
	uint64_t misses; /* frames whose rule was not remembered, since init */
};

/* slots: [count] zeroes; count: a power of two. */
void unwind_walker_init(struct unwind_walker *w, struct unwind_slot *slots, uint32_t count);

/* Fills stack->frames, count, end, guessed, fp. An ip outside of all maps is a frame like any
 * other: NO_INFO unless the frame pointer helps. */
void unwind_walk(struct unwind_walker *w, const struct unwind_space *space,
		 const struct unwind_regs *regs, struct unwind_memory *memory,
		 struct unwind_stack *stack);

#endif
