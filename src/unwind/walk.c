/* SPDX-License-Identifier: MIT */
#include "unwind/walk.h"

#include <assert.h>
#include <stdatomic.h>

#define SIGNALS_MAX 64                /* signal frames in one walk */
#define FRAME_MAX (UINT64_C(1) << 30) /* bytes; more is not a frame but nonsense */
#define GUESS_MAX (UINT64_C(8) << 20) /* bytes that a frame pointer may point ahead */
#define SLOT_HASH UINT64_C(0x9e3779b97f4a7c15)
#define WORD 8

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

	uint64_t pc, sp, fp, aux; /* pc as in struct unwind_frame */
	uint32_t missing;         /* NO_SP ... */
	bool is_exact;            /* pc is the instruction itself, and regs are its registers */
	const struct unwind_regs *regs;
	struct unwind_regs restored; /* from a signal frame */
	uint32_t signals;            /* signal frames so far */
};

/* What a step came to, before the frame there has been looked at. */
enum step {
	STEP_CALLER,      /* the walk stands in the caller */
	STEP_INTERRUPTED, /* in what a signal interrupted */
	STEP_END,         /* nowhere: the frame is the last one, enum unwind_end in *ret_end */
};

uint64_t unwind_space_version(void)
{
	static atomic_uint_fast64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

const struct unwind_map *unwind_space_find(const struct unwind_space *space, uint64_t address)
{
	uint32_t low = 0, high = space->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (space->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == space->count || space->maps[low].start > address)
		return NULL;
	return &space->maps[low];
}

void unwind_walker_init(struct unwind_walker *w, struct unwind_slot *slots, uint32_t count)
{
	assert(count && (count & (count - 1)) == 0);
	*w = (struct unwind_walker){ .slots = slots, .mask = count - 1 };
}

static __attribute__((noinline)) const struct unwind_rule *look_up(struct walk *w,
								   struct unwind_slot *slot,
								   uint64_t pc)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	const struct unwind_map *map = unwind_space_find(w->space, pc);
	const struct unwind_rule *rule = &none;

	w->walker->misses++;
	if (!map)
		return NULL;
	if (map->table)
		rule = unwind_table_find(map->table, pc - map->bias);
	*slot = (struct unwind_slot){ .pc = pc, .version = w->space->version, .rule = rule };
	return rule;
}

/* How to leave the frame at pc; NULL: there is no code. */
static inline const struct unwind_rule *find_rule(struct walk *w, uint64_t pc)
{
	uint64_t hash = (pc ^ w->salt) * SLOT_HASH;
	struct unwind_slot *slot = &w->walker->slots[(hash >> 32) & w->walker->mask];

	if (__builtin_expect(slot->pc == pc && slot->version == w->space->version, 1))
		return slot->rule;
	return look_up(w, slot, pc);
}

static enum step end_with(enum unwind_end end, enum unwind_end *ret_end)
{
	*ret_end = end;
	return STEP_END;
}

/* A word that should be there is not: the copy ends before it, or it is nonsense. */
static enum step end_unread(const struct walk *w, uint64_t address, enum unwind_end *ret_end)
{
	return end_with(address - w->sp < FRAME_MAX ? UNWIND_TRUNCATED : UNWIND_BROKEN, ret_end);
}

static bool get_reg(const struct walk *w, unsigned number, uint64_t *ret)
{
	if (number == w->arch->sp) {
		*ret = w->sp;
		return !(w->missing & NO_SP);
	}
	if (number == w->arch->save[UNWIND_FP]) {
		*ret = w->fp;
		return !(w->missing & NO_FP);
	}
	if (number == w->arch->save[UNWIND_AUX]) {
		*ret = w->aux;
		return !(w->missing & NO_AUX);
	}
	if (!w->is_exact || !(w->regs->known >> number & 1))
		return false;
	*ret = w->regs->r[number];
	return true;
}

/* Takes over the registers of an instruction that is running or was interrupted. */
static void enter_exact(struct walk *w, const struct unwind_regs *regs)
{
	w->regs = regs;
	w->is_exact = true;
	w->pc = regs->ip;
	w->missing = 0;
	w->sp = regs->r[w->arch->sp];
	w->fp = w->aux = 0;
	if (regs->known >> w->arch->save[UNWIND_FP] & 1)
		w->fp = regs->r[w->arch->save[UNWIND_FP]];
	else
		w->missing |= NO_FP;
	if (regs->known >> w->arch->save[UNWIND_AUX] & 1)
		w->aux = regs->r[w->arch->save[UNWIND_AUX]];
	else
		w->missing |= NO_AUX;
}

static void enter_caller(struct walk *w, uint64_t ra, uint64_t sp)
{
	w->pc = (ra & w->arch->address_mask) - 1;
	w->sp = sp;
	w->is_exact = false;
}

/* Does the caller's sp lie above that of this frame? Nothing is pushed by a call on AArch64,
 * so the innermost function may not have moved it. */
static bool is_above(const struct walk *w, uint64_t cfa)
{
	if (cfa % WORD)
		return false;
	return cfa > w->sp || (cfa == w->sp && w->is_exact && !w->arch->is_ra_pushed);
}

/* Epilogues tell where a register was saved after they have popped it: it lies below the sp,
 * where a copy of the stack does not reach, and is in its register again. */
static bool is_popped(const struct walk *w, uint64_t at)
{
	return w->is_exact && at < w->sp;
}

/* The rule of nearly all frames: CFA from sp or fp, the rest at fixed places below it. */
static inline enum step step_plain(struct walk *w, uint64_t base, const struct unwind_rule *rule,
				   enum unwind_end *ret_end)
{
	uint64_t cfa = base + (uint64_t)(int64_t)rule->offset;
	uint64_t ra_at = cfa + (uint64_t)(int64_t)rule->at[UNWIND_RA], ra;

	if (!is_above(w, cfa))
		return end_with(UNWIND_BROKEN, ret_end);
	if (!unwind_memory_word(w->memory, ra_at, &ra))
		return end_unread(w, ra_at, ret_end);
	if (rule->save[UNWIND_FP] == UNWIND_SAVE_AT_CFA) {
		uint64_t at = cfa + (uint64_t)(int64_t)rule->at[UNWIND_FP];

		if (!is_popped(w, at)) {
			if (!unwind_memory_word(w->memory, at, &w->fp))
				return end_unread(w, at, ret_end);
			w->missing &= ~(uint32_t)NO_FP;
		}
	}
	if (rule->save[UNWIND_AUX] == UNWIND_SAVE_AT_CFA) {
		uint64_t at = cfa + (uint64_t)(int64_t)rule->at[UNWIND_AUX];

		if (!is_popped(w, at)) {
			if (!unwind_memory_word(w->memory, at, &w->aux))
				return end_unread(w, at, ret_end);
			w->missing &= ~(uint32_t)NO_AUX;
		}
	}
	enter_caller(w, ra, cfa);
	w->missing &= ~(uint32_t)NO_SP;
	return STEP_CALLER;
}

/* The kernel's frame below a signal handler: DWARF numbers in the order of its words, from
 * start bytes above sp on; the instruction pointer follows them.
 * Source: asm/sigcontext.h, asm/ucontext.h of both. */
static const struct context {
	uint32_t start;
	uint32_t count;
	uint8_t numbers[UNWIND_REG_COUNT];
} x86_context = { 40, 16, { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7 } },
  arm64_context = { 312, 32, { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
			       16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 } };

static enum step step_signal(struct walk *w, const struct unwind_rule *rule,
			     enum unwind_end *ret_end)
{
	const struct context *context =
		w->arch->machine == EM_X86_64 ? &x86_context : &arm64_context;
	uint64_t at = w->sp + (uint64_t)(int64_t)rule->offset + context->start;
	struct unwind_regs regs = { .known = 0 };

	if (w->missing & NO_SP)
		return end_with(UNWIND_NO_INFO, ret_end);
	for (uint32_t i = 0; i < context->count; i++, at += WORD) {
		uint64_t value;

		if (!unwind_memory_word(w->memory, at, &value))
			return end_unread(w, at, ret_end);
		unwind_regs_set(&regs, context->numbers[i], value);
	}
	if (!unwind_memory_word(w->memory, at, &regs.ip))
		return end_unread(w, at, ret_end);
	w->restored = regs;
	enter_exact(w, &w->restored);
	return STEP_INTERRUPTED;
}

/* false: not known, for lack of a register (ret_end: NO_INFO) or of memory. */
static bool find_cfa(struct walk *w, const struct unwind_rule *rule, uint64_t *ret,
		     enum unwind_end *ret_end)
{
	uint64_t value, at;

	*ret_end = UNWIND_NO_INFO;
	if (!get_reg(w, rule->reg, &value))
		return false;
	at = value + (uint64_t)(int64_t)rule->offset;
	*ret = at;
	if (rule->cfa == UNWIND_CFA_PLT && w->pc % 16 >= (uint64_t)rule->add)
		*ret += WORD;
	if (rule->cfa != UNWIND_CFA_DEREF)
		return true;
	if (!unwind_memory_word(w->memory, at, &value)) {
		end_unread(w, at, ret_end);
		return false;
	}
	*ret = value + (uint64_t)(int64_t)rule->add;
	return true;
}

/* The caller's value of a register that is followed. false: not known. */
static bool find_saved(struct walk *w, const struct unwind_rule *rule, int which, uint64_t cfa,
		       uint64_t *ret)
{
	uint64_t at = (uint64_t)(int64_t)rule->at[which];

	switch (rule->save[which]) {
	case UNWIND_SAVE_SAME:
		return get_reg(w, w->arch->save[which], ret);
	case UNWIND_SAVE_AT_CFA:
		if (is_popped(w, cfa + at))
			return get_reg(w, w->arch->save[which], ret);
		return unwind_memory_word(w->memory, cfa + at, ret);
	case UNWIND_SAVE_AT_SP:
		return !(w->missing & NO_SP) && unwind_memory_word(w->memory, w->sp + at, ret);
	case UNWIND_SAVE_AT_FP:
		return !(w->missing & NO_FP) && unwind_memory_word(w->memory, w->fp + at, ret);
	case UNWIND_SAVE_IN_REG:
		return get_reg(w, (unsigned)at, ret);
	case UNWIND_SAVE_IS_CFA:
		*ret = cfa + at;
		return true;
	default:
		return false;
	}
}

/* A caller by the call's own convention: the instruction has not yet moved the stack, or never
 * does. true: there is code at the address where it would return. */
static bool guess_leaf(struct walk *w)
{
	uint64_t ra, sp = w->sp;
	const struct unwind_rule *rule;

	if (!w->is_exact)
		return false;
	if (w->arch->is_ra_pushed) {
		if (!unwind_memory_word(w->memory, sp, &ra))
			return false;
		sp += WORD;
	} else if (!get_reg(w, w->arch->save[UNWIND_RA], &ra)) {
		return false;
	}
	rule = find_rule(w, (ra & w->arch->address_mask) - 1);
	if (!rule || rule->cfa == UNWIND_CFA_NONE || rule->cfa == UNWIND_CFA_UNKNOWN)
		return false;
	enter_caller(w, ra, sp);
	return true;
}

/* A caller by the frame pointer: both machines keep the caller's one where it points to, and
 * the return address behind. Where the caller's frame starts is known only on x86-64. */
static enum step guess_frame(struct walk *w, enum unwind_end *ret_end)
{
	uint64_t fp, ra;

	if (w->missing & NO_FP || w->fp % WORD || w->fp < w->sp || w->fp - w->sp > GUESS_MAX)
		return end_with(UNWIND_NO_INFO, ret_end);
	if (!unwind_memory_word(w->memory, w->fp, &fp) ||
	    !unwind_memory_word(w->memory, w->fp + WORD, &ra))
		return end_with(UNWIND_TRUNCATED, ret_end);
	if ((ra & w->arch->address_mask) && !find_rule(w, (ra & w->arch->address_mask) - 1))
		return end_with(UNWIND_NO_INFO, ret_end);
	enter_caller(w, ra, w->fp + 2 * WORD);
	w->fp = fp;
	w->missing = NO_AUX | (w->arch->is_ra_pushed ? 0 : NO_SP);
	return STEP_CALLER;
}

/* Code that nothing describes (rule: NONE), or not so that it helps. */
static enum step step_guess(struct walk *w, const struct unwind_rule *rule,
			    enum unwind_end *ret_end)
{
	const struct unwind_map *map = unwind_space_find(w->space, w->pc);
	bool is_gap = rule->cfa == UNWIND_CFA_NONE;
	enum step step;

	/* Nothing around it uses frame pointers, most likely. */
	bool is_leaf_first =
		is_gap && (!map || (map->table && unwind_table_describes_any(map->table)));

	if (!w->is_exact && is_gap && map && map->table && !(w->missing & NO_FP) && w->fp == 0)
		return end_with(UNWIND_COMPLETE, ret_end); /* as the psABIs tell thread starts to */
	w->stack->guessed++;
	if (is_leaf_first && guess_leaf(w))
		return STEP_CALLER;
	step = guess_frame(w, ret_end);
	if (step == STEP_END && is_gap && !is_leaf_first && guess_leaf(w))
		return STEP_CALLER;
	if (step == STEP_END)
		w->stack->guessed--;
	return step;
}

/* Any other rule that has a CFA. */
static enum step step_general(struct walk *w, const struct unwind_rule *rule,
			      enum unwind_end *ret_end)
{
	uint64_t cfa, ra, fp, aux;
	bool has_fp, has_aux;

	if (!find_cfa(w, rule, &cfa, ret_end))
		return *ret_end == UNWIND_NO_INFO ? step_guess(w, rule, ret_end) : STEP_END;
	if (!rule->is_signal && !is_above(w, cfa))
		return end_with(UNWIND_BROKEN, ret_end);
	if (!find_saved(w, rule, UNWIND_RA, cfa, &ra))
		return rule->save[UNWIND_RA] == UNWIND_SAVE_AT_CFA
			       ? end_unread(w, cfa - WORD, ret_end)
			       : end_with(UNWIND_NO_INFO, ret_end);
	has_fp = find_saved(w, rule, UNWIND_FP, cfa, &fp);
	has_aux = find_saved(w, rule, UNWIND_AUX, cfa, &aux);
	w->fp = has_fp ? fp : 0;
	w->aux = has_aux ? aux : 0;
	w->missing = (has_fp ? 0 : NO_FP) | (has_aux ? 0 : NO_AUX);
	enter_caller(w, ra, cfa);
	if (rule->is_signal)
		w->pc++;
	return STEP_CALLER;
}

static inline enum step take_step(struct walk *w, const struct unwind_rule *rule,
				  enum unwind_end *ret_end)
{
	if (__builtin_expect(rule->cfa == UNWIND_CFA_SP, 1))
		return w->missing & NO_SP ? step_guess(w, rule, ret_end)
					  : step_plain(w, w->sp, rule, ret_end);
	if (rule->cfa == UNWIND_CFA_FP)
		return w->missing & NO_FP ? step_guess(w, rule, ret_end)
					  : step_plain(w, w->fp, rule, ret_end);
	if (rule->is_signal && ++w->signals > SIGNALS_MAX)
		return end_with(UNWIND_BROKEN, ret_end);
	switch (rule->cfa) {
	case UNWIND_CFA_END:
		return end_with(UNWIND_COMPLETE, ret_end);
	case UNWIND_CFA_NONE:
	case UNWIND_CFA_UNKNOWN:
		return step_guess(w, rule, ret_end);
	case UNWIND_CFA_SIGNAL:
		return step_signal(w, rule, ret_end);
	default:
		return step_general(w, rule, ret_end);
	}
}

void unwind_walk(struct unwind_walker *walker, const struct unwind_space *space,
		 const struct unwind_regs *regs, struct unwind_memory *memory,
		 struct unwind_stack *stack)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	const struct unwind_rule *rule;
	enum step step = STEP_INTERRUPTED;
	struct walk w;

	w.walker = walker;
	w.space = space;
	w.memory = memory;
	w.stack = stack;
	w.arch = unwind_arch_of(space->machine);
	w.salt = space->version * SLOT_HASH;
	w.signals = 0;
	assert(w.arch && stack->cap);
	enter_exact(&w, regs);
	stack->count = 0;
	stack->guessed = 0;
	do {
		rule = find_rule(&w, w.pc);
		if (!rule && step == STEP_CALLER) {
			stack->end = w.pc == UINT64_MAX ? UNWIND_COMPLETE : UNWIND_BROKEN;
			return;
		}
		if (stack->count == stack->cap) {
			stack->end = UNWIND_FULL;
			return;
		}
		stack->frames[stack->count++] = (struct unwind_frame){ w.pc, w.sp };
		step = take_step(&w, rule ? rule : &none, &stack->end);
	} while (step != STEP_END);
}
