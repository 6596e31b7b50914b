/* SPDX-License-Identifier: MIT */
#include "unwind/stitch.h"

#include <stdlib.h>
#include <string.h>

void stitch_fini(struct stitch *s)
{
	free(s->frames);
	free(s->doubts);
	*s = (struct stitch){ 0 };
}

/* Where pc is among the doubts, or would be. */
static uint64_t *doubt_slot(const struct stitch *s, uint64_t pc)
{
	uint64_t slot = (pc * UINT64_C(0x9e3779b97f4a7c15) >> 32) % STITCH_DOUBT_SLOTS;

	while (s->doubts[slot] && s->doubts[slot] != pc)
		slot = (slot + 1) % STITCH_DOUBT_SLOTS;
	return &s->doubts[slot];
}

static bool is_doubtful(const struct stitch *s, uint64_t pc)
{
	if (s->doubt_count >= STITCH_DOUBTS)
		return true;
	return s->doubts && *doubt_slot(s, pc);
}

static void doubt(struct stitch *s, uint64_t pc)
{
	uint64_t *slot;

	if (is_doubtful(s, pc))
		return;
	if (!s->doubts)
		s->doubts = calloc(STITCH_DOUBT_SLOTS, sizeof *s->doubts);
	if (!s->doubts) {
		s->doubt_count = STITCH_DOUBTS; /* cannot be remembered: doubt everything */
		return;
	}
	slot = doubt_slot(s, pc);
	*slot = pc;
	s->doubt_count++;
}

bool stitch_is_ambiguous(const struct stitch *s, const struct unwind_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (is_doubtful(s, frames[i].pc))
			return true;
	return false;
}

static bool is_same(struct unwind_frame a, struct unwind_frame b)
{
	return a.sp == b.sp && a.pc == b.pc;
}

/* Frames on a signal stack or a coroutine's do not lie in one row. */
static bool has_growing_sp(const struct unwind_stack *stack)
{
	for (uint32_t i = 2; i < stack->count; i++)
		if (stack->frames[i].sp <= stack->frames[i - 1].sp)
			return false;
	return true;
}

/* Frames that both stacks have, with different callers. */
static void learn_doubts(struct stitch *s, const struct unwind_stack *stack)
{
	uint32_t known = 0;

	for (uint32_t i = 1; i + 1 < stack->count; i++) {
		while (known < s->count && s->frames[known].sp < stack->frames[i].sp)
			known++;
		if (known + 1 >= s->count)
			return;
		if (is_same(stack->frames[i], s->frames[known]) &&
		    !is_same(stack->frames[i + 1], s->frames[known + 1]))
			doubt(s, stack->frames[i].pc);
	}
}

/* The innermost frame is no caller and is left out. */
static void remember(struct stitch *s, const struct unwind_stack *stack)
{
	uint32_t count = stack->count - 1;

	if (count > s->cap) {
		uint32_t cap = count < 64 ? 64 : count + count / 2;
		struct unwind_frame *frames = realloc(s->frames, cap * sizeof *frames);

		if (!frames) {
			s->count = 0;
			return;
		}
		s->frames = frames;
		s->cap = cap;
	}
	if (count)
		memcpy(s->frames, stack->frames + 1, count * sizeof *s->frames);
	s->count = count;
	s->extended = 0;
}

/* The first known frame with an sp of at least this. */
static uint32_t find_sp(const struct stitch *s, uint64_t sp)
{
	uint32_t low = 0, high = s->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->frames[middle].sp < sp)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Do the last frames of the stack agree with the known ones that end with known? */
static bool has_run(const struct stitch *s, const struct unwind_stack *stack, uint32_t known)
{
	uint32_t last = stack->count - 1;
	uint32_t run = last < STITCH_RUN ? last : STITCH_RUN;

	if (known >= s->count || known + 1 < run)
		return false;
	for (uint32_t i = 0; i < run; i++)
		if (!is_same(stack->frames[last - i], s->frames[known - i]))
			return false;
	return run > 0 && !stitch_is_ambiguous(s, s->frames + known, s->count - known);
}

static void append(const struct stitch *s, struct unwind_stack *stack, uint32_t from)
{
	uint32_t more = s->count - from, room = stack->cap - stack->count;

	stack->end = more > room ? UNWIND_FULL : UNWIND_COMPLETE;
	more = more > room ? room : more;
	if (more)
		memcpy(stack->frames + stack->count, s->frames + from,
		       more * sizeof *stack->frames);
	stack->count += more;
}

bool stitch_stack(struct stitch *s, struct unwind_stack *stack)
{
	uint32_t known, extended = s->extended + 1;

	if ((stack->end != UNWIND_COMPLETE && stack->end != UNWIND_TRUNCATED) ||
	    !has_growing_sp(stack))
		return false;
	learn_doubts(s, stack);
	if (stack->end == UNWIND_COMPLETE) {
		remember(s, stack);
		return false;
	}
	known = find_sp(s, stack->frames[stack->count - 1].sp);
	if (!has_run(s, stack, known)) {
		/* What lay where this stack is, and below, has been left. */
		while (known < s->count &&
		       s->frames[known].sp <= stack->frames[stack->count - 1].sp)
			known++;
		s->count -= known;
		if (s->count)
			memmove(s->frames, s->frames + known, s->count * sizeof *s->frames);
		return false;
	}
	append(s, stack, known + 1);
	if (stack->end == UNWIND_COMPLETE)
		remember(s, stack);
	s->extended = extended;
	return true;
}
