/* SPDX-License-Identifier: MIT */
#include "unwind/stitch.h"

#include <stdlib.h>

#include "base/macros.h"
#include "tap.h"

#define DEPTH_MAX 12000
#define TOP UINT64_C(0x7fff0000000) /* sp of the outermost frame */

/* A thread as it is; we show copies of it that end early. */
struct thread {
	struct unwind_frame truth[DEPTH_MAX]; /* [depth] outermost first */
	uint32_t depth;
};

static void call(struct thread *t, uint64_t pc, uint64_t frame_bytes)
{
	uint64_t sp = t->depth ? t->truth[t->depth - 1].sp : TOP;

	t->truth[t->depth++] = (struct unwind_frame){ pc, sp - frame_bytes };
}

/* What a walk of a copy of the innermost bytes finds. */
static struct unwind_stack show(const struct thread *t, uint64_t copied, uint32_t cap)
{
	static struct unwind_frame frames[DEPTH_MAX];
	struct unwind_stack stack = { .frames = frames, .cap = cap, .end = UNWIND_COMPLETE };

	for (uint32_t i = t->depth; i-- > 0;) {
		if (i + 1 < t->depth && t->truth[i].sp - t->truth[t->depth - 1].sp > copied) {
			stack.end = UNWIND_TRUNCATED;
			break;
		}
		frames[stack.count++] = t->truth[i];
	}
	return stack;
}

static bool is_true(const struct thread *t, const struct unwind_stack *stack)
{
	if (stack->count > t->depth)
		return false;
	for (uint32_t i = 0; i < stack->count; i++)
		if (memcmp(&stack->frames[i], &t->truth[t->depth - 1 - i], sizeof *stack->frames))
			return false;
	return true;
}

static void test_basic(void)
{
	CLEANUP(stitch_fini) struct stitch s = { 0 };
	static struct thread t;
	struct unwind_stack stack;

	t.depth = 0;
	for (uint64_t i = 0; i < 20; i++)
		call(&t, 0x1000 + i * 16, 64);
	stack = show(&t, 256, DEPTH_MAX);
	CHECK_INT(stack.end, UNWIND_TRUNCATED);
	CHECK(!stitch_stack(&s, &stack)); /* nothing known yet */
	CHECK_INT(stack.count, 5);
	stack = show(&t, 10000, DEPTH_MAX);
	CHECK(!stitch_stack(&s, &stack));
	/* deeper, twice over: the second relies on the first */
	for (uint64_t n = 0; n < 2; n++) {
		for (uint64_t i = 0; i < 10; i++)
			call(&t, 0x2000 + n * 0x1000 + i * 16, 48);
		stack = show(&t, 1000, DEPTH_MAX);
		CHECK_INT(stack.end, UNWIND_TRUNCATED);
		CHECK(stitch_stack(&s, &stack));
		CHECK_INT(stack.end, UNWIND_COMPLETE);
		CHECK_INT(stack.count, t.depth);
		CHECK(is_true(&t, &stack));
	}
	stack = show(&t, 1000, 22);
	stack.cap = 25;
	stack.count = 22;
	CHECK(stitch_stack(&s, &stack));
	CHECK_INT(stack.end, UNWIND_FULL);
	CHECK_INT(stack.count, 25);
	CHECK(is_true(&t, &stack));
	/* Grown by more than a copy since: the middle is not known. */
	for (uint64_t i = 0; i < 100; i++)
		call(&t, 0x9000 + i * 16, 48);
	stack = show(&t, 1000, DEPTH_MAX);
	CHECK(!stitch_stack(&s, &stack));
	CHECK_INT(stack.end, UNWIND_TRUNCATED);
	/* ... and back: what was known still is. */
	t.depth -= 92;
	stack = show(&t, 1000, DEPTH_MAX);
	CHECK(stitch_stack(&s, &stack));
	CHECK(is_true(&t, &stack));
}

/* The same sp and pc at the copy's end, but not before it. */
static void test_run(void)
{
	CLEANUP(stitch_fini) struct stitch s = { 0 };
	static struct thread t;
	struct unwind_stack stack;

	t.depth = 0;
	for (uint64_t i = 0; i < 10; i++)
		call(&t, 0x1000 + i * 16, 64);
	stack = show(&t, 10000, DEPTH_MAX);
	CHECK(!stitch_stack(&s, &stack));
	t.depth = 4; /* two frames of 32 for each of 64 */
	for (uint64_t i = 0; i < 6; i++) {
		call(&t, 0x5000 + i * 16, 32);
		call(&t, 0x1000 + (4 + i) * 16, 32);
	}
	stack = show(&t, 300, DEPTH_MAX);
	CHECK_INT(stack.end, UNWIND_TRUNCATED);
	CHECK(!stitch_stack(&s, &stack));
}

/* Two ways to the same place. */
static void test_doubt(void)
{
	CLEANUP(stitch_fini) struct stitch s = { 0 };
	static struct thread t;
	struct unwind_stack stack;

	for (uint64_t way = 0; way < 2; way++) {
		t.depth = 0;
		call(&t, 0x1000, 64);
		call(&t, 0x2000 + way * 16, 64);
		for (int i = 0; i < 5; i++)
			call(&t, 0x3000, 64);
		stack = show(&t, 10000, DEPTH_MAX);
		CHECK(!stitch_stack(&s, &stack));
	}
	for (int i = 0; i < 50; i++)
		call(&t, 0x3000, 64);
	stack = show(&t, 54 * 64 - 8, DEPTH_MAX);
	CHECK_INT(stack.end, UNWIND_TRUNCATED);
	CHECK(!stitch_stack(&s, &stack)); /* 0x3000 proves nothing */
	/* where the ways have parted, all is well */
	stack = show(&t, 55 * 64 + 8, DEPTH_MAX);
	CHECK_INT(stack.frames[stack.count - 1].pc, 0x2010);
	CHECK_INT(stack.end, UNWIND_TRUNCATED);
	CHECK(!stitch_stack(&s, &stack)); /* the known ones below it were forgotten just now */
	t.depth = 7;
	stack = show(&t, 10000, DEPTH_MAX);
	CHECK(!stitch_stack(&s, &stack));
	for (int i = 0; i < 50; i++)
		call(&t, 0x3000, 64);
	stack = show(&t, 55 * 64 + 8, DEPTH_MAX);
	if (CHECK(stitch_stack(&s, &stack)))
		CHECK(is_true(&t, &stack));
}

/* Too many of them: the thread is left alone. */
static void test_many_doubts(void)
{
	CLEANUP(stitch_fini) struct stitch s = { 0 };
	static struct thread t;
	struct unwind_stack stack;

	for (uint64_t i = 0; i < 2 * (STITCH_DOUBTS + 10); i++) {
		t.depth = 0;
		call(&t, 0x1000, 64);
		call(&t, 0x2000 + i % 2 * 16, 64);
		call(&t, 0x3000 + i / 2 * 16, 64);
		call(&t, 0x4000, 64);
		stack = show(&t, 10000, DEPTH_MAX);
		CHECK(!stitch_stack(&s, &stack));
	}
	CHECK_INT(s.doubt_count, STITCH_DOUBTS);
	stack = show(&t, 150, DEPTH_MAX);
	CHECK_INT(stack.end, UNWIND_TRUNCATED);
	CHECK(!stitch_stack(&s, &stack));
}

static void test_other_stacks(void)
{
	CLEANUP(stitch_fini) struct stitch s = { 0 };
	static struct thread t;
	struct unwind_stack stack;

	t.depth = 0;
	for (uint64_t i = 0; i < 20; i++)
		call(&t, 0x1000 + i * 16, 64);
	stack = show(&t, 10000, DEPTH_MAX);
	stack.frames[3].sp = 0x1000; /* a signal handler's own stack up to there */
	CHECK(!stitch_stack(&s, &stack));
	CHECK_INT(s.count, 0);
	stack.end = UNWIND_BROKEN;
	CHECK(!stitch_stack(&s, &stack));
	stack.count = 1;
	stack.end = UNWIND_COMPLETE;
	CHECK(!stitch_stack(&s, &stack));
	stack.end = UNWIND_TRUNCATED;
	CHECK(!stitch_stack(&s, &stack));
}

/* A recursion down to a depth and back, seen now and then through copies of 8 KiB. */
static void recurse(struct thread *t, uint32_t depth, uint32_t every, uint64_t *stitched,
		    uint64_t *samples)
{
	CLEANUP(stitch_fini) struct stitch s = { 0 };
	bool down = true;

	t->depth = 0;
	call(t, 0x1000, 80);
	call(t, 0x2000, 160);
	while (t->depth > 2 || down) {
		struct unwind_stack stack;
		uint64_t was = *stitched;

		if (down)
			call(t, 0x3000, 48);
		else
			t->depth--;
		down &= t->depth < depth;
		if (t->depth % every)
			continue;
		stack = show(t, 8192, DEPTH_MAX);
		++*samples;
		*stitched += stitch_stack(&s, &stack);
		CHECK(is_true(t, &stack));
		if (*stitched > was)
			CHECK_INT(stack.count, t->depth);
	}
}

static void test_recursion(void)
{
	static struct thread t;
	uint64_t stitched = 0, samples = 0;

	recurse(&t, 10000, 50, &stitched, &samples);
	CHECK_INT(samples, 399);
	CHECK_INT(stitched, 399 - 6); /* but those of up to 170 frames, down and up */
}

/* A recursion of two calls, and a sample after each walk up and down of it: many ways to each
 * depth, the worst that can be. It must be seen through before anything wrong is told. */
static void test_two_calls(void)
{
	CLEANUP(stitch_fini) struct stitch s = { 0 };
	static struct thread t;
	uint64_t wrong = 0, samples = 20000;

	srandom(1);
	t.depth = 0;
	call(&t, 0x1000, 80);
	for (uint64_t i = 0; i < samples; i++) {
		uint32_t low = 1 + (uint32_t)random() % t.depth,
			 high = 1 + (uint32_t)random() % 400;
		struct unwind_stack stack;

		t.depth = low;
		while (t.depth < high)
			call(&t, 0x3000 + 16 * ((uint64_t)random() % 2), 48);
		stack = show(&t, 8192, DEPTH_MAX);
		stitch_stack(&s, &stack);
		wrong += !is_true(&t, &stack);
	}
	CHECK_INT(wrong, 0);
}

int main(void)
{
	TAP_CASE(test_basic);
	TAP_CASE(test_run);
	TAP_CASE(test_doubt);
	TAP_CASE(test_many_doubts);
	TAP_CASE(test_other_stacks);
	TAP_CASE(test_recursion);
	TAP_CASE(test_two_calls);
	return tap_done();
}
