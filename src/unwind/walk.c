/* SPDX-License-Identifier: MIT */
#include "unwind/walk.h"

#include <assert.h>
#include <stdatomic.h>

#include "unwind/walk_internal.h"

#define SIGNALS_MAX 64                /* signal frames in one walk */
#define FRAME_MAX (UINT64_C(1) << 30) /* bytes; more is not a frame but nonsense */
#define RED_ZONE UINT64_C(128)        /* bytes below sp that are a leaf's. Source: psABI 3.2.2 */

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

const struct unwind_rule *walk_look_up(struct walk *w, struct unwind_slot *slot, uint64_t pc)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	const struct unwind_map *map = unwind_space_find(w->space, pc);
	const struct unwind_rule *rule = &none;

	w->walker->misses++;
	if (!map)
		return NULL;
	if (map->table)
		rule = unwind_table_find(map->table, pc - map->bias);
	else if (map->lookup)
		rule = unwind_lookup_find(map->lookup, pc - map->bias);
	else if (map->rule)
		rule = map->rule;
	*slot = (struct unwind_slot){ .pc = pc, .version = w->space->version, .rule = rule };
	return rule;
}

bool walk_get_reg(const struct walk *w, unsigned number, uint64_t *ret)
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
	/* Described assembly that relies on a register which a call may change calls nothing that
	 * changes it. Others may have been saved and changed, which is not followed. */
	if ((!w->is_exact && w->arch->callee_saved >> number & 1) ||
	    !(w->regs->known >> number & 1))
		return false;
	*ret = w->regs->r[number];
	return true;
}

/* A word that should be there is not: the copy ends before it, or it is nonsense. A function
 * may keep words just below sp, where no copy has them. */
static enum step end_unread(const struct walk *w, uint64_t address, enum unwind_end *ret_end)
{
	bool is_near = address - w->sp + RED_ZONE < FRAME_MAX;

	return walk_end(is_near ? UNWIND_TRUNCATED : UNWIND_BROKEN, ret_end);
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

/* Does the caller's sp lie above that of this frame? The innermost function may not have moved
 * it (AArch64), or back already (longjmp). */
static bool is_above(const struct walk *w, uint64_t cfa)
{
	return cfa % w->arch->word == 0 && (cfa > w->sp || (cfa == w->sp && w->is_exact));
}

/*
 * A register that was saved at an address, into *value. Below sp it has been taken back from
 * there already: compilers do not describe that in the last instructions of a function, and the
 * copy of a stack starts at sp.
 */
static inline void take_saved(struct walk *w, uint64_t at, uint32_t flag, uint64_t *value)
{
	if (at - w->sp >= FRAME_MAX)
		return;
	if (walk_word(w, at, value))
		w->missing &= ~flag;
	else
		w->missing |= flag;
}

/* The rule of nearly all frames: CFA from sp or fp, the rest at fixed places below it. */
static inline enum step step_plain(struct walk *w, uint64_t base, const struct unwind_rule *rule,
				   enum unwind_end *ret_end)
{
	uint64_t cfa = base + (uint64_t)(int64_t)rule->offset;
	uint64_t ra_at = cfa + (uint64_t)(int64_t)rule->at[UNWIND_RA], ra;

	if (!is_above(w, cfa))
		return walk_end(UNWIND_BROKEN, ret_end);
	if (!walk_word(w, ra_at, &ra))
		return end_unread(w, ra_at, ret_end);
	if (rule->save[UNWIND_FP] == UNWIND_SAVE_AT_CFA)
		take_saved(w, cfa + (uint64_t)(int64_t)rule->at[UNWIND_FP], NO_FP, &w->fp);
	if (rule->save[UNWIND_AUX] == UNWIND_SAVE_AT_CFA)
		take_saved(w, cfa + (uint64_t)(int64_t)rule->at[UNWIND_AUX], NO_AUX, &w->aux);
	walk_to_caller(w, ra, cfa);
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
		return walk_end(UNWIND_NO_INFO, ret_end);
	for (uint32_t i = 0; i < context->count; i++, at += w->arch->word) {
		uint64_t value;

		if (!walk_word(w, at, &value))
			return end_unread(w, at, ret_end);
		unwind_regs_set(&regs, context->numbers[i], value);
	}
	if (!walk_word(w, at, &regs.ip))
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
	if (!walk_get_reg(w, rule->reg, &value))
		return false;
	if (rule->cfa == UNWIND_CFA_INDEX)
		value = value * w->arch->word + w->sp;
	at = value + (uint64_t)(int64_t)rule->offset;
	*ret = at;
	if (rule->cfa == UNWIND_CFA_PLT && w->pc % 16 >= (uint64_t)rule->add)
		*ret += w->arch->word;
	if (rule->cfa != UNWIND_CFA_DEREF && rule->cfa != UNWIND_CFA_INDEX)
		return true;
	if (!walk_word(w, at, &value)) {
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
		return walk_get_reg(w, w->arch->save[which], ret);
	case UNWIND_SAVE_AT_CFA:
		if (cfa + at - w->sp >= FRAME_MAX) /* taken back already, see take_saved */
			return walk_get_reg(w, w->arch->save[which], ret);
		return walk_word(w, cfa + at, ret);
	case UNWIND_SAVE_AT_SP:
		return !(w->missing & NO_SP) && walk_word(w, w->sp + at, ret);
	case UNWIND_SAVE_AT_FP:
		return !(w->missing & NO_FP) && walk_word(w, w->fp + at, ret);
	case UNWIND_SAVE_IN_REG:
		return walk_get_reg(w, (unsigned)at, ret);
	case UNWIND_SAVE_IS_CFA:
		*ret = cfa + at;
		return true;
	default:
		return false;
	}
}

/* Any other rule that has a CFA. */
static enum step step_general(struct walk *w, const struct unwind_rule *rule,
			      enum unwind_end *ret_end)
{
	uint64_t cfa, sp, ra, fp, aux;
	bool has_fp, has_aux;

	if (!find_cfa(w, rule, &cfa, ret_end) && !walk_fallback_cfa(w, rule, &cfa))
		return *ret_end == UNWIND_NO_INFO ? walk_fallback(w, rule, ret_end) : STEP_END;
	sp = cfa;
	if (rule->cfa == UNWIND_CFA_JUMP && !walk_get_reg(w, (unsigned)rule->add, &sp))
		return walk_end(UNWIND_NO_INFO, ret_end);
	if (!rule->is_signal && !is_above(w, sp))
		return walk_end(UNWIND_BROKEN, ret_end);
	if (!find_saved(w, rule, UNWIND_RA, cfa, &ra))
		return rule->save[UNWIND_RA] == UNWIND_SAVE_AT_CFA
			       ? end_unread(w, cfa - w->arch->word, ret_end)
			       : walk_end(UNWIND_NO_INFO, ret_end);
	has_fp = find_saved(w, rule, UNWIND_FP, cfa, &fp);
	has_aux = find_saved(w, rule, UNWIND_AUX, cfa, &aux);
	w->fp = has_fp ? fp : 0;
	w->aux = has_aux ? aux : 0;
	w->missing = (has_fp ? 0 : NO_FP) | (has_aux ? 0 : NO_AUX);
	walk_to_caller(w, ra, sp);
	if (rule->is_signal)
		w->pc++;
	return STEP_CALLER;
}

static inline enum step take_step(struct walk *w, const struct unwind_rule *rule,
				  enum unwind_end *ret_end)
{
	if (__builtin_expect(rule->cfa == UNWIND_CFA_SP, 1))
		return w->missing & NO_SP ? walk_fallback(w, rule, ret_end)
					  : step_plain(w, w->sp, rule, ret_end);
	if (rule->cfa == UNWIND_CFA_FP)
		return w->missing & NO_FP ? walk_fallback(w, rule, ret_end)
					  : step_plain(w, w->fp, rule, ret_end);
	if (rule->is_signal && ++w->signals > SIGNALS_MAX)
		return walk_end(UNWIND_BROKEN, ret_end);
	switch (rule->cfa) {
	case UNWIND_CFA_END:
		return walk_end(UNWIND_COMPLETE, ret_end);
	case UNWIND_CFA_NONE:
	case UNWIND_CFA_UNKNOWN:
		return walk_fallback(w, rule, ret_end);
	case UNWIND_CFA_SIGNAL:
		return step_signal(w, rule, ret_end);
	default:
		return step_general(w, rule, ret_end);
	}
}

/* What a signal handler returns to was not called: there is no call before its first byte, and
 * what is there may belong to nothing. */
static inline bool is_restorer(const struct unwind_rule *rule, enum step step)
{
	return rule && rule->is_signal && step == STEP_CALLER;
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
	w.salt = space->version * WALK_HASH;
	w.signals = 0;
	assert(w.arch && stack->cap);
	enter_exact(&w, regs);
	stack->count = 0;
	stack->guessed = 0;
	stack->fp = 0;
	do {
		rule = walk_find_rule(&w, w.pc);
		if (!rule && step == STEP_CALLER) {
			stack->end = w.pc == UINT64_MAX ? UNWIND_COMPLETE : UNWIND_BROKEN;
			return;
		}
		if (stack->count == stack->cap) {
			stack->end = UNWIND_FULL;
			return;
		}
		stack->frames[stack->count++] =
			(struct unwind_frame){ w.pc + is_restorer(rule, step), w.sp };
		step = take_step(&w, rule ? rule : &none, &stack->end);
	} while (step != STEP_END);
	stack->fp = w.missing & NO_FP ? 0 : w.fp;
}
