/* SPDX-License-Identifier: MIT */
#include "unwind/fp_chain.h"

#include <stdlib.h>

#include "cfi_maker.h"
#include "tap.h"

#define CODE 0x400000 /* where the made file's code is mapped */
#define STACK 0x7000e0
#define WORDS 8 /* of the copy */

/* Functions of the made file, as offsets from its code; all of them 0x40 bytes. */
enum {
	START = 0x000, /* nobody called it */
	PLAIN = 0x100, /* CFA sp + 32: keeps no frame pointer */
	FRAME = 0x180, /* CFA rbp + 16, rbp at c-16 */
	ODD = 0x1c0,   /* CFA rbp + 24, rbp at c-16: not where the kernel looks */
};

#define CALL(function) (CODE + (uint64_t)(function) + 0x10) /* a return address in it */

static struct unwind_table *make_table(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };
	CLEANUP(buf_fini) struct buf file = { 0 };
	char code[0x400] = { 0 };
	struct unwind_table *table = NULL;
	struct elf_image image;
	struct err e;

	put_usual_cie(&m);
	put_fde(&m, CODE_VADDR + START, 0x40, BYTES("\x07\x10"));
	put_fde(&m, CODE_VADDR + PLAIN, 0x40, BYTES("\x0e\x20"));
	put_fde(&m, CODE_VADDR + FRAME, 0x40, BYTES("\x0c\x06\x10\x86\x02"));
	put_fde(&m, CODE_VADDR + ODD, 0x40, BYTES("\x0c\x06\x18\x86\x02"));
	image = make_elf(&m, BYTES(code), 0, &file);
	CHECK_INT(unwind_table_new(&image, NULL, &table, &e), 0);
	return table;
}

static uint64_t at_word(size_t index)
{
	return STACK + 8 * index;
}

/* What was copied of a stack whose thread stands in FRAME: two more frames, the second of which
 * has its return address behind the copy. */
static const uint64_t copied[WORDS] = {
	0,
	/* rbp: */ STACK + 8 * 4,
	CALL(FRAME),
	0,
	/* 4: */ STACK + 8 * 7,
	CALL(FRAME),
	0,
	/* 7: */ STACK + 8 * 20,
};

/* The frames that a chain appends, as offsets from the code, and how the stack ends. */
static void continue_text(const uint64_t *copy, const uint64_t *chain, size_t count, uint32_t cap,
			  struct buf *out)
{
	static const char *const ends[] = { "complete", "truncated", "no info", "broken", "full" };
	struct unwind_table *table = make_table();
	struct unwind_map map = { CODE, CODE + CODE_LEN, CODE - CODE_VADDR, table, NULL, NULL };
	struct unwind_space space = { &map, 1, EM_X86_64, unwind_space_version() };
	struct unwind_slot slots[64] = { 0 };
	struct unwind_walker walker;
	struct unwind_memory memory = unwind_memory_copy(STACK, copy, WORDS * 8);
	struct unwind_frame frames[16];
	struct unwind_stack stack = { .frames = frames, .cap = cap };
	struct unwind_regs regs = { .ip = CALL(FRAME) };
	struct fp_chain links = { (const unsigned char *)chain, count };
	uint32_t before;
	bool is_more;

	unwind_walker_init(&walker, slots, ARRAY_LEN(slots));
	unwind_regs_set(&regs, UNWIND_X86_SP, STACK);
	unwind_regs_set(&regs, UNWIND_X86_BP, at_word(1));
	unwind_walk(&walker, &space, &regs, &memory, &stack);
	before = stack.count;
	is_more = fp_chain_extend(&walker, &space, &regs, &memory, &links, &stack);
	CHECK(is_more == (stack.count > before));
	buf_clear(out);
	for (uint32_t i = before; i < stack.count; i++)
		buf_printf(out, "%llx ", (unsigned long long)frames[i].pc - CODE);
	buf_put_str(out, ends[stack.end]);
	unwind_table_free(table);
}

static void check(const uint64_t *copy, const uint64_t *chain, size_t count, const char *want)
{
	CLEANUP(buf_fini) struct buf got = { 0 };

	continue_text(copy, chain, count, 16, &got);
	CHECK_STR(got.data, want);
}
#define CHAIN(...) \
	(uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

#define SEEN CALL(FRAME), CALL(FRAME), CALL(FRAME) /* within the copy */

static void test_goes_on(void)
{
	check(copied, CHAIN(SEEN, CALL(FRAME), CALL(FRAME)), "18f 18f truncated");
	check(copied, CHAIN(SEEN, CALL(FRAME), CALL(START)), "18f f complete");
	check(copied, CHAIN(SEEN, CALL(START), CALL(FRAME)), "f complete");
}

/* What keeps no frame pointer is passed over by the chain, so nothing is known of its caller. */
static void test_stops(void)
{
	check(copied, CHAIN(SEEN, CALL(FRAME), CALL(PLAIN), CALL(FRAME)), "18f 10f truncated");
	check(copied, CHAIN(SEEN, CALL(ODD), CALL(FRAME)), "1cf truncated");
	check(copied, CHAIN(SEEN, CALL(FRAME), 0x1234, CALL(FRAME)), "18f truncated");
	check(copied, CHAIN(SEEN, CALL(FRAME), 0), "18f truncated");
}

static void test_is_another_chain(void)
{
	uint64_t other[WORDS];

	check(copied, CHAIN(SEEN), "truncated");
	check(copied, CHAIN(CALL(FRAME)), "truncated");
	check(copied, NULL, 0, "truncated");
	check(copied, CHAIN(CALL(PLAIN), CALL(FRAME), CALL(FRAME), CALL(FRAME)), "truncated");
	check(copied, CHAIN(CALL(FRAME), CALL(PLAIN), CALL(FRAME), CALL(FRAME)), "truncated");
	/* the last frame has no frame pointer of its own */
	memcpy(other, copied, sizeof other);
	other[5] = CALL(PLAIN);
	check(other, CHAIN(CALL(FRAME), CALL(FRAME), CALL(PLAIN), CALL(FRAME)), "truncated");
	/* complete by the copy alone */
	other[5] = CALL(START);
	check(other, CHAIN(SEEN, CALL(FRAME)), "complete");
}

static void test_has_no_room(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };

	continue_text(copied, CHAIN(SEEN, CALL(FRAME), CALL(FRAME)), 4, &got);
	CHECK_STR(got.data, "18f full");
}

int main(void)
{
	TAP_CASE(test_goes_on);
	TAP_CASE(test_stops);
	TAP_CASE(test_is_another_chain);
	TAP_CASE(test_has_no_room);
	return tap_done();
}
