/* SPDX-License-Identifier: MIT */
#include "unwind/fp_chain.h"

#include <string.h>

#include "unwind/walk_internal.h"

static uint64_t word_at(const struct fp_chain *links, size_t i)
{
	uint64_t word;

	memcpy(&word, links->words + i * sizeof word, sizeof word);
	return word;
}

/* Does the frame keep, at the frame pointer, that of its caller, and above it the return
 * address? */
static bool is_linked(const struct unwind_arch *arch, const struct unwind_rule *rule)
{
	return rule && rule->cfa == UNWIND_CFA_FP && rule->save[UNWIND_RA] == UNWIND_SAVE_AT_CFA &&
	       rule->save[UNWIND_FP] == UNWIND_SAVE_AT_CFA &&
	       rule->offset + (int64_t)rule->at[UNWIND_FP] == 0 &&
	       rule->offset + (int64_t)rule->at[UNWIND_RA] == arch->word;
}

/* The number of the word that lay above the frame pointer end; 0: the chain is another one. */
static size_t find_link(const struct unwind_arch *arch, const struct unwind_regs *regs,
			struct unwind_memory *copy, const struct fp_chain *links, uint64_t end)
{
	unsigned number = arch->save[UNWIND_FP];
	uint64_t fp = regs->r[number], next, ra;
	size_t i = 1;

	if (!end || !(regs->known >> number & 1) || !links->count || word_at(links, 0) != regs->ip)
		return 0;
	for (; fp != end; fp = next, i++) {
		if (i >= links->count || !walk_read(arch, copy, fp, &next) ||
		    !walk_read(arch, copy, fp + arch->word, &ra) || next <= fp ||
		    ((ra ^ word_at(links, i)) & arch->address_mask) != 0)
			return 0;
	}
	return i < links->count ? i : 0;
}

bool fp_chain_extend(struct unwind_walker *walker, const struct unwind_space *space,
		     const struct unwind_regs *regs, struct unwind_memory *copy,
		     const struct fp_chain *links, struct unwind_stack *stack)
{
	struct walk w = {
		.walker = walker,
		.space = space,
		.salt = space->version * WALK_HASH,
		.arch = unwind_arch_of(space->machine),
	};
	const struct unwind_rule *rule = walk_find_rule(&w, stack->frames[stack->count - 1].pc);
	uint32_t before = stack->count;
	size_t i;

	if (stack->end != UNWIND_TRUNCATED || !is_linked(w.arch, rule))
		return false;
	i = find_link(w.arch, regs, copy, links, stack->fp);
	for (; i && i < links->count && is_linked(w.arch, rule); i++) {
		walk_to_caller(&w, word_at(links, i), 0);
		rule = walk_find_rule(&w, w.pc);
		if (!rule)
			break;
		if (stack->count == stack->cap) {
			stack->end = UNWIND_FULL;
			break;
		}
		stack->frames[stack->count++] = (struct unwind_frame){ w.pc, 0 };
	}
	if (rule && rule->cfa == UNWIND_CFA_END && stack->count > before)
		stack->end = UNWIND_COMPLETE;
	return stack->count > before;
}
