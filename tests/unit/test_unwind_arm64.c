/* SPDX-License-Identifier: MIT */
/* Stacks of an AArch64 program with signed return addresses, as recorded by
 * fixtures/unwind/make_arm64.sh, against what its compiler said of them. */
#include "unwind/walk.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/file.h"
#include "base/macros.h"
#include "tap.h"

#define TRUTH_MAX 16

static const char *fixtures; /* folder */

/* struct shown of fixtures/unwind/arm64.c, then the stack. */
struct recording {
	struct file_input file;
	struct unwind_regs regs;
	uint64_t truth[TRUTH_MAX]; /* [truth_count] return addresses, innermost first */
	uint64_t truth_count;
	uint64_t stack_start;
	struct cursor stack;
};

static void recording_fini(struct recording *r)
{
	file_input_fini(&r->file);
}

static bool load(const char *name, struct recording *ret)
{
	struct cursor c;
	char path[4096];
	struct err e;

	snprintf(path, sizeof path, "%s/%s", fixtures, name);
	if (!CHECK_INT(file_load(path, &ret->file, &e), 0))
		return false;
	c = cursor_make(ret->file.data, ret->file.len);
	for (unsigned i = 0; i < 32; i++)
		unwind_regs_set(&ret->regs, i, cursor_u64(&c));
	ret->regs.ip = cursor_u64(&c);
	ret->truth_count = cursor_u64(&c);
	for (unsigned i = 0; i < TRUTH_MAX; i++)
		ret->truth[i] = cursor_u64(&c);
	ret->stack_start = cursor_u64(&c);
	ret->stack = cursor_sub(&c, cursor_u64(&c));
	return CHECK(!c.bad && ret->truth_count <= TRUTH_MAX && cursor_left(&ret->stack) > 0);
}

static struct unwind_stack walk(const struct recording *r, const struct unwind_table *table,
				uint64_t len, struct unwind_frame *frames, uint32_t cap)
{
	const struct unwind_map map = { 0x400000, 0x500000, 0, table, NULL, NULL };
	const struct unwind_space space = { &map, 1, EM_AARCH64, unwind_space_version() };
	struct unwind_memory memory = unwind_memory_copy(r->stack_start, r->stack.at, len);
	struct unwind_stack stack = { .frames = frames, .cap = cap };
	struct unwind_slot slots[16] = { 0 };
	struct unwind_walker walker;

	unwind_walker_init(&walker, slots, ARRAY_LEN(slots));
	unwind_walk(&walker, &space, &r->regs, &memory, &stack);
	return stack;
}

/* is_interrupted: one frame more than there were calls, the one that a signal came to, and
 * before it the one that its handler returns to, which is told as it is. */
static void check_frames(const struct recording *r, const struct unwind_stack *stack,
			 bool is_interrupted)
{
	bool has_restorer = is_interrupted;
	uint64_t truth = 0;

	CHECK_INT(stack->frames[0].pc, r->regs.ip);
	for (uint32_t i = 1; i < stack->count; i++) {
		bool is_exact = has_restorer && truth < r->truth_count &&
				stack->frames[i].pc == r->truth[truth];

		if (truth < r->truth_count && stack->frames[i].pc + !is_exact == r->truth[truth]) {
			truth++;
			has_restorer &= !is_exact;
		} else {
			is_interrupted = !is_interrupted || !CHECK(is_interrupted);
		}
	}
	CHECK(!is_interrupted && !has_restorer);
	if (stack->end == UNWIND_COMPLETE)
		CHECK_INT(truth, r->truth_count);
}

/* The last frame is _start, which nobody marked. */
static void check_recording(const char *name, bool is_interrupted)
{
	CLEANUP(recording_fini) struct recording r = { 0 };
	struct unwind_frame frames[32];
	struct unwind_table *table;
	struct unwind_stack stack;
	struct elf_image image;
	char path[4096];
	struct err e;

	snprintf(path, sizeof path, "%s/arm64_program", fixtures);
	if (!load(name, &r) || !CHECK_INT(elf_image_open(&image, path, &e), 0))
		return;
	if (CHECK_INT(unwind_table_new(&image, NULL, &table, &e), 0)) {
		stack = walk(&r, table, cursor_left(&r.stack), frames, ARRAY_LEN(frames));
		CHECK_INT(stack.end, UNWIND_COMPLETE);
		CHECK_INT(stack.guessed, 0);
		stack.count--;
		check_frames(&r, &stack, is_interrupted);
		/* of any part of it, nothing wrong is told */
		for (uint64_t len = 0; len < cursor_left(&r.stack) && !is_interrupted; len += 8) {
			stack = walk(&r, table, len, frames, ARRAY_LEN(frames));
			if (stack.end == UNWIND_TRUNCATED)
				check_frames(&r, &stack, false);
			else
				CHECK_INT(stack.end, UNWIND_COMPLETE);
		}
		unwind_table_free(table);
	}
	elf_image_close(&image);
}

static void test_calls(void)
{
	check_recording("arm64_calls", false);
}

static void test_signal(void)
{
	check_recording("arm64_signal", true);
}

int main(int argc, char **argv)
{
	fixtures = argc > 1 ? argv[1] : "tests/fixtures/unwind";
	TAP_CASE(test_calls);
	TAP_CASE(test_signal);
	return tap_done();
}
