/* SPDX-License-Identifier: MIT */
#include "unwind/walk_internal.h"

#define AHEAD_MAX (UINT64_C(8) << 20) /* bytes that a frame pointer may point ahead */
#define OWN_MAX 512                   /* ... when it is that of a function without much else */
#define SAVED_MAX 4096                /* bytes that are searched for a saved sp */

/* A caller that may be. */
struct guess {
	uint64_t ra, sp, fp;
	const struct unwind_rule *rule; /* of the caller, NULL: no code */
};

/*
 * There must be described code before the return address, and what its rule states about its own
 * caller must be code too: words that were left on the stack by earlier calls seldom go that
 * far.
 */
static bool is_plausible(struct walk *w, const struct guess *g)
{
	const struct unwind_rule *rule = g->rule;
	uint64_t cfa, ra;

	if (!rule || rule->cfa == UNWIND_CFA_NONE || rule->cfa == UNWIND_CFA_UNKNOWN)
		return false;
	if (rule->cfa == UNWIND_CFA_SP)
		cfa = g->sp + (uint64_t)(int64_t)rule->offset;
	else if (rule->cfa == UNWIND_CFA_FP && !(w->missing & NO_FP))
		cfa = g->fp + (uint64_t)(int64_t)rule->offset;
	else
		return true;
	if (cfa <= g->sp || cfa - g->sp > AHEAD_MAX)
		return false;
	if (!walk_word(w, cfa + (uint64_t)(int64_t)rule->at[UNWIND_RA], &ra))
		return true; /* not copied */
	ra &= w->arch->address_mask;
	return ra == 0 || walk_find_rule(w, ra - 1);
}

static void set_return(struct walk *w, struct guess *g, uint64_t ra)
{
	g->ra = ra & w->arch->address_mask;
	g->rule = walk_find_rule(w, g->ra - 1);
}

/* Between "push %rbp" and "mov %rsp, %rbp": the word at sp is rbp itself. */
static bool by_prologue(struct walk *w, struct guess *ret)
{
	uint64_t fp, ra;

	if (!w->is_exact || !w->arch->is_ra_pushed || w->missing & NO_FP ||
	    !walk_word(w, w->sp, &fp) || fp != w->fp || !walk_word(w, w->sp + w->arch->word, &ra))
		return false;
	*ret = (struct guess){ .sp = w->sp + 2 * w->arch->word, .fp = fp };
	set_return(w, ret, ra);
	return ret->rule != NULL;
}

/* By the call's own convention: the instruction has not yet moved the stack, or never does. */
static bool by_call(struct walk *w, struct guess *ret)
{
	uint64_t ra;

	if (!w->is_exact)
		return false;
	*ret = (struct guess){ .sp = w->sp, .fp = w->fp };
	if (!w->arch->is_ra_pushed) {
		if (!walk_get_reg(w, w->arch->save[UNWIND_RA], &ra))
			return false;
	} else {
		if (!walk_word(w, w->sp, &ra))
			return false;
		ret->sp += w->arch->word;
	}
	set_return(w, ret, ra);
	return is_plausible(w, ret);
}

/* By the frame pointer: both machines keep the caller's one where it points to, and the return
 * address behind. ahead: bytes that it may lie above sp. */
static bool by_frame(struct walk *w, uint64_t ahead, struct guess *ret, enum unwind_end *ret_end)
{
	uint64_t fp, ra;

	*ret_end = UNWIND_NO_INFO;
	if (w->missing & NO_FP || w->fp % w->arch->word || w->fp < w->sp || w->fp - w->sp > ahead)
		return false;
	if (!walk_word(w, w->fp, &fp) || !walk_word(w, w->fp + w->arch->word, &ra)) {
		*ret_end = UNWIND_TRUNCATED;
		return false;
	}
	*ret = (struct guess){ .sp = w->fp + 2 * w->arch->word, .fp = fp };
	set_return(w, ret, ra);
	return ret->ra == 0 || ret->rule;
}

/* Among code that is described, and so most likely without frame pointers. An assembly
 * function may have one all the same; but if its caller has, rbp is the caller's. */
static bool guess_in_gap(struct walk *w, struct guess *ret, enum unwind_end *ret_end)
{
	struct guess call, frame;
	bool is_call = by_call(w, &call);
	bool is_own =
		w->is_exact && by_frame(w, OWN_MAX, &frame, ret_end) && is_plausible(w, &frame);

	if (is_call && (!is_own || call.rule->cfa == UNWIND_CFA_FP))
		*ret = call;
	else if (is_own)
		*ret = frame;
	else
		return by_frame(w, AHEAD_MAX, ret, ret_end);
	return true;
}

static bool guess_caller(struct walk *w, bool is_gap, const struct unwind_map *map,
			 struct guess *ret, enum unwind_end *ret_end)
{
	if (!is_gap)
		return by_frame(w, AHEAD_MAX, ret, ret_end);
	if (by_prologue(w, ret))
		return true;
	if (!map || map->lookup || (map->table && unwind_table_describes_any(map->table)))
		return guess_in_gap(w, ret, ret_end);
	return by_frame(w, AHEAD_MAX, ret, ret_end) || by_call(w, ret);
}

bool walk_fallback_cfa(struct walk *w, const struct unwind_rule *rule, uint64_t *ret)
{
	if (!w->is_exact || rule->cfa != UNWIND_CFA_DEREF || rule->reg != w->arch->sp ||
	    rule->offset >= 0)
		return false;
	for (uint64_t at = w->sp; at < w->sp + SAVED_MAX; at += w->arch->word) {
		struct guess g = { 0 };
		uint64_t saved, ra;

		if (!walk_word(w, at, &saved))
			return false;
		if (saved <= at || saved - at > AHEAD_MAX || saved % w->arch->word ||
		    !walk_word(w, saved, &ra))
			continue;
		g.sp = saved + (uint64_t)rule->add;
		set_return(w, &g, ra);
		if (!is_plausible(w, &g))
			continue;
		w->stack->guessed++;
		*ret = g.sp;
		return true;
	}
	return false;
}

enum step walk_fallback(struct walk *w, const struct unwind_rule *rule, enum unwind_end *ret_end)
{
	const struct unwind_map *map = unwind_space_find(w->space, w->pc);
	bool is_gap = rule->cfa == UNWIND_CFA_NONE, is_frame;
	struct guess g;

	/* as the psABIs define the start of a thread */
	if (!w->is_exact && is_gap && map && (map->table || map->lookup) && !(w->missing & NO_FP) &&
	    w->fp == 0)
		return walk_end(UNWIND_COMPLETE, ret_end);
	if (!guess_caller(w, is_gap, map, &g, ret_end))
		return STEP_END;
	is_frame = g.sp == w->fp + 2 * w->arch->word;
	w->stack->guessed++;
	walk_to_caller(w, g.ra, g.sp);
	w->fp = g.fp;
	if (is_frame) /* where its caller's frame starts is known only when the call pushed */
		w->missing = NO_AUX | (w->arch->is_ra_pushed ? 0 : NO_SP);
	return STEP_CALLER;
}
