/* SPDX-License-Identifier: MIT */
#include "preload/heap/capture.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "preload/heap/big_stack.h"
#include "preload/heap/code.h"
#include "preload/heap/file.h"
#include "preload/heap/trie.h"
#include "unwind/self.h"

#define FRAME_BYTES_MAX (UINT64_C(1) << 30) /* more is not a frame but nonsense */

struct slow_walk {
	struct thread *t;
	struct unwind_regs regs;
	uint64_t sp;
	uint32_t node; /* the result */
};

static void take_frames(struct slow_walk *w, const struct unwind_space *space,
			const struct unwind_stack *stack)
{
	uint32_t first = 0, count = stack->count;

	while (first < stack->count && code_is_own(stack->frames[first].pc))
		first++;
	if (stack->end == UNWIND_FULL)
		count = first + FRAMES_CUT;
	if (stack->end != UNWIND_COMPLETE)
		file_count(&file_header()->cut_stacks);
	while (count > first) {
		uint64_t pc = stack->frames[--count].pc;

		w->node = trie_child(w->node, pc, code_mapping_of(space, pc));
	}
}

static void walk_all(void *arg)
{
	struct slow_walk *w = arg;
	struct thread *t = w->t;
	const struct unwind_space *space = code_borrow();
	struct unwind_stack stack = { .frames = (void *)t->fresh, .cap = FRAMES_MAX };
	struct unwind_memory memory;

	if (space) {
		memory = thread_knows_stack(t, w->sp)
				 ? unwind_memory_own(w->sp, t->stack_high)
				 : unwind_memory_process(getpid(), t->window, sizeof t->window);
		unwind_walk(&t->walker, space, &w->regs, &memory, &stack);
		take_frames(w, space, &stack);
	}
	code_give_back();
}

#if defined(__x86_64__)
/* In a library that was loaded from a file without a name, there are no rules to leave the hook by:
 * the walk begins in its caller, with fewer registers. */
static void start_at_caller(struct unwind_regs *regs, const uint64_t *frame)
{
	regs->known = 0;
	regs->ip = frame[1] - 1;
	unwind_regs_set(regs, UNWIND_X86_SP, (uintptr_t)(frame + 2));
	unwind_regs_set(regs, UNWIND_X86_BP, frame[0]);
}
#endif

/* All registers, frame by frame: for what the fast walk does not follow. Nothing of it is kept. */
static __attribute__((noinline)) uint32_t walk_slowly(struct thread *t, const uint64_t *frame)
{
	struct slow_walk w = { .t = t };

	(void)frame;
	t->count = 0;
	file_count(&file_header()->slow_walks);
	unwind_self_regs(&w.regs);
#if defined(__x86_64__)
	if (!code_knows_own())
		start_at_caller(&w.regs, frame);
	w.sp = w.regs.r[UNWIND_X86_SP];
#elif defined(__aarch64__)
	w.sp = w.regs.r[UNWIND_ARM64_SP];
#endif
	if (!big_stack_run(walk_all, &w))
		file_count(&file_header()->cut_stacks);
	return w.node;
}

#if defined(__x86_64__)

/* How many of the frames [0..count), from the outermost on, may still be there: all, or those
 * outside of the innermost one that memory does not have any more. */
static inline uint32_t count_unchanged(const struct frame *frames, uint32_t count)
{
	for (const struct frame *f = frames + count; f-- > frames;) {
		uint64_t ra = *(const uint64_t *)(uintptr_t)(f->sp - 8) - 1;

		if ((ra ^ f->pc) | (*f->fp_slot ^ f->fp_value))
			return (uint32_t)(f - frames);
	}
	return count;
}

static inline uint32_t find_child(struct thread *t, uint32_t parent, const struct frame *f)
{
	uint64_t hash = (f->pc ^ (uint64_t)parent << 40) * UINT64_C(0x9e3779b97f4a7c15);
	struct kept_node *kept = &t->nodes[hash >> 54];

	static_assert(NODES_KEPT == 1 << 10, "as many bits");
	if (__builtin_expect(kept->pc == f->pc && kept->parent == parent && kept->node, 1))
		return kept->node;
	kept->pc = f->pc;
	kept->parent = parent;
	kept->node = trie_child(parent, f->pc, f->mapping);
	return kept->node;
}

/* Puts the frames that were walked inside of the known ones. */
static inline uint32_t keep(struct thread *t, uint32_t known, uint32_t fresh)
{
	uint32_t node = known ? t->frames[known - 1].node : 0;
	struct frame *f = &t->frames[known];

	t->count = known + fresh;
	while (fresh-- > 0) {
		const struct frame *from = &t->fresh[fresh];

		f->pc = from->pc;
		f->sp = from->sp;
		f->fp = from->fp;
		f->fp_slot = from->fp_slot;
		f->fp_value = from->fp_value;
		node = f->node = find_child(t, node, from);
		f++;
	}
	return node;
}

/* A stack deeper than what is kept: the innermost frames of it, as if they were all. */
static uint32_t cut(struct thread *t, uint32_t fresh)
{
	uint32_t count = fresh < FRAMES_CUT ? fresh : FRAMES_CUT, node = 0;

	file_count(&file_header()->cut_stacks);
	t->count = 0;
	while (count-- > 0)
		node = trie_child(node, t->fresh[count].pc, t->fresh[count].mapping);
	return node;
}

static __attribute__((noinline)) void change_version(struct thread *t, uint64_t version)
{
	memset(t->nodes, 0, sizeof t->nodes);
	t->count = 0;
	t->code_version = version;
}

/* The innermost frame, and from there the frame that the walk stands in. */
struct place {
	uint64_t pc, sp, fp;
	const uint64_t *fp_slot; /* as in struct frame */
	uint64_t fp_value;
};

/* Is at a frame that was there, with all outer ones? *known: frames that may still be. */
static inline bool is_known(struct thread *t, const struct place *at, uint32_t *known)
{
	struct frame *f;
	uint32_t unchanged;

	while (*known && t->frames[*known - 1].sp < at->sp)
		--*known;
	f = &t->frames[*known - 1];
	if (!*known || f->sp != at->sp || f->pc != at->pc || f->fp != at->fp)
		return false;
	unchanged = count_unchanged(t->frames, *known - 1);
	if (unchanged != *known - 1) {
		*known = unchanged;
		return false;
	}
	/* How it was reached may be new: the next walk verifies that. */
	f->fp_slot = at->fp_slot;
	f->fp_value = at->fp_value;
	return true;
}

enum step { STEP_CALLER, STEP_END, STEP_SPECIAL };

static inline enum step take_step(const struct thread *t, struct place *at, uint64_t word)
{
	uint64_t below = code_fp_below(word), cfa;

	if (code_kind(word) == CODE_END)
		return STEP_END;
	cfa = (code_kind(word) == CODE_SP ? at->sp : at->fp) + code_offset(word);
	if (code_kind(word) == CODE_SPECIAL || cfa <= at->sp || cfa > t->stack_high || cfa % 8 ||
	    cfa - below < at->sp)
		return STEP_SPECIAL;
	at->fp_slot = (const uint64_t *)(uintptr_t)(cfa - 8);
	at->fp_value = *at->fp_slot;
	at->pc = at->fp_value - 1;
	if (below) {
		at->fp_slot = (const uint64_t *)(uintptr_t)(cfa - below);
		at->fp = at->fp_value = *at->fp_slot;
	}
	at->sp = cfa;
	return at->pc == UINT64_MAX ? STEP_END : STEP_CALLER;
}

static inline void put_fresh(struct frame *f, const struct place *at, uint64_t word)
{
	f->pc = at->pc;
	f->sp = at->sp;
	f->fp = at->fp;
	f->fp_slot = at->fp_slot;
	f->fp_value = at->fp_value;
	f->mapping = code_mapping(word);
}

static inline uint32_t walk(struct thread *t, const uint64_t *frame)
{
	const uint64_t version = __atomic_load_n(&code_version, __ATOMIC_ACQUIRE);
	struct place at = { frame[1] - 1, (uintptr_t)(frame + 2), frame[0], frame + 1, frame[1] };
	uint32_t known, fresh = 0;

	if (!thread_knows_stack(t, at.sp))
		return walk_slowly(t, frame);
	if (version != t->code_version)
		change_version(t, version);
	known = t->count;
	while (!is_known(t, &at, &known)) {
		uint64_t word;
		enum step step;

		if (fresh == FRAMES_MAX)
			return cut(t, fresh);
		word = code_find(at.pc, version);
		put_fresh(&t->fresh[fresh++], &at, word);
		step = take_step(t, &at, word);
		if (step == STEP_SPECIAL)
			return walk_slowly(t, frame);
		if (step == STEP_END) {
			known = 0;
			break;
		}
	}
	if (known + fresh > FRAMES_MAX)
		return cut(t, fresh);
	return keep(t, known, fresh);
}

#ifdef CAPTURE_CHECKED
/* For tests: the same stack in full. */
static __attribute__((noinline)) void check(struct thread *t, uint32_t node, const uint64_t *frame)
{
	uint32_t count = t->count;

	if (count && walk_slowly(t, frame) != node)
		__builtin_trap();
	t->count = count;
}
#else
static inline void check(struct thread *t, uint32_t node, const uint64_t *frame)
{
	(void)t;
	(void)node;
	(void)frame;
}
#endif

uint32_t capture_stack(struct thread *t, const uint64_t *frame)
{
	uint32_t node = walk(t, frame);

	check(t, node, frame);
	return node;
}

#else

uint32_t capture_stack(struct thread *t, const uint64_t *frame)
{
	return walk_slowly(t, frame);
}

#endif
