/* SPDX-License-Identifier: MIT */
/* walk_internal: the state of a walk and its unwind steps, for the source files of walk. */
#ifndef UNWIND_WALK_INTERNAL_H
#define UNWIND_WALK_INTERNAL_H

#include "unwind/walk.h"

#define WALK_HASH UINT64_C(0x9e3779b97f4a7c15)

/* What is not known of the frame. */
enum {
	NO_SP = 1, /* only a lower bound of it */
	NO_FP = 2,
	NO_AUX = 4,
};

/* The walk, and the frame that it stands in. */
struct walk {
	struct unwind_walker *walker;
	const struct unwind_space *space;
	struct unwind_memory *memory;
	struct unwind_stack *stack;
	const struct unwind_arch *arch;
	uint64_t salt; /* of this space in the walker's cache */

	uint64_t pc, sp, fp, aux;       /* pc as in struct unwind_frame */
	uint32_t missing;               /* NO_SP ... */
	bool is_exact;                  /* pc is the instruction itself, not the call before */
	const struct unwind_regs *regs; /* of the last frame that was exact */
	struct unwind_regs restored;    /* from a signal frame */
	uint32_t signals;               /* signal frames so far */
};

/* What a step came to, before the frame there has been looked at. */
enum step {
	STEP_CALLER,      /* the walk stands in the caller */
	STEP_INTERRUPTED, /* in what a signal interrupted */
	STEP_END,         /* nowhere: the frame is the last one, enum unwind_end in *ret_end */
};

/* For walk_find_rule: what the walker's cache does not know. */
const struct unwind_rule *walk_look_up(struct walk *w, struct unwind_slot *slot, uint64_t pc);

/* How to leave the frame at pc; NULL: there is no code. */
static inline const struct unwind_rule *walk_find_rule(struct walk *w, uint64_t pc)
{
	uint64_t hash = (pc ^ w->salt) * WALK_HASH;
	struct unwind_slot *slot = &w->walker->slots[(hash >> 32) & w->walker->mask];

	if (__builtin_expect(slot->pc == pc && slot->version == w->space->version, 1))
		return slot->rule;
	return walk_look_up(w, slot, pc);
}

/* An address on the stack. Always 8 bytes are read: of a copy for 32 bits the last 4 are not used.
 */
static inline bool walk_read(const struct unwind_arch *arch, struct unwind_memory *memory,
			     uint64_t address, uint64_t *ret)
{
	if (!unwind_memory_word(memory, address, ret))
		return false;
	if (__builtin_expect(arch->word == 4, 0))
		*ret &= UINT32_MAX;
	return true;
}

static inline bool walk_word(struct walk *w, uint64_t address, uint64_t *ret)
{
	return walk_read(w->arch, w->memory, address, ret);
}

/* A register of the frame, as far as it is known. number < UNWIND_REG_COUNT */
bool walk_get_reg(const struct walk *w, unsigned number, uint64_t *ret);

static inline enum step walk_end(enum unwind_end end, enum unwind_end *ret_end)
{
	*ret_end = end;
	return STEP_END;
}

static inline void walk_to_caller(struct walk *w, uint64_t ra, uint64_t sp)
{
	w->pc = (ra & w->arch->address_mask) - 1;
	w->sp = sp;
	w->is_exact = false;
}

/* The caller of code that nothing describes (rule: NONE), or not so that it helps. */
enum step walk_fallback(struct walk *w, const struct unwind_rule *rule, enum unwind_end *ret_end);

/*
 * The CFA of a function that keeps the sp it was entered with just below its own sp, where no
 * copy of the stack has it (openssl's vector code, which copies it down as it moves sp): the
 * first word further up that points to a return address is most likely an older copy of that.
 */
bool walk_fallback_cfa(struct walk *w, const struct unwind_rule *rule, uint64_t *ret);

#endif
