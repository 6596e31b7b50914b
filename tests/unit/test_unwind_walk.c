/* SPDX-License-Identifier: MIT */
#include "unwind/trampoline.h"
#include "unwind/walk.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi_maker.h"
#include "tap.h"

#define CODE 0x400000  /* where the made file's code is mapped */
#define JIT 0x700000   /* code without a table */
#define STACK 0x7000e0 /* the lowest address of all stacks here; any would do */
#define WORDS_MAX 96

/* Functions of the made file, as offsets from its code; all of them 0x40 bytes. */
enum {
	START = 0x000,    /* nobody called it */
	PLAIN = 0x100,    /* CFA sp + 16 */
	SAVES = 0x140,    /* CFA sp + 32, rbp at c-16, rbx at c-24 */
	FRAME = 0x180,    /* CFA rbp + 16, rbp at c-16 */
	DRAP = 0x1c0,     /* CFA *(rbp - 8), rbp at rbp + 0 */
	BASE = 0x200,     /* CFA rbx + 16 */
	SCRATCH = 0x240,  /* CFA r9 + 16 */
	PLT = 0x280,      /* the linker's expression */
	INDEX = 0x300,    /* CFA *(rsp + 8 + 8 * r9) + 8 */
	JUMP = 0x2c0,     /* as longjmp: saves at rdi + 0, rsp in r8, rip in rdx */
	RESTORER = 0x401, /* of the kernel's signal frame, not described; at 0x401 of a gap */
	GAP = 0x500,
	POPPED = 0x640, /* CFA sp + 8, rbp at c-16, rbx at c-24 */
	BELOW = 0x680,  /* CFA *(rsp - 8) + 8, rbx at c-16 */
	RISE = 0x600,   /* CFA sp + 0: no function does that */
};

struct scene {
	uint16_t machine;
	struct unwind_table *table;
	struct unwind_map maps[2];
	struct unwind_space space;
	struct unwind_slot slots[64];
	struct unwind_walker walker;
	uint64_t stack[WORDS_MAX];
	size_t words; /* of stack */
	struct unwind_regs regs;
};

static void put_x86_functions(struct cfi_maker *m)
{
	put_usual_cie(m);
	put_fde(m, CODE_VADDR + START, 0x40, BYTES("\x07\x10"));
	put_fde(m, CODE_VADDR + PLAIN, 0x40, BYTES("\x0e\x10"));
	put_fde(m, CODE_VADDR + SAVES, 0x40, BYTES("\x0e\x20\x86\x02\x83\x03"));
	put_fde(m, CODE_VADDR + FRAME, 0x40, BYTES("\x0c\x06\x10\x86\x02"));
	put_fde(m, CODE_VADDR + DRAP, 0x40, BYTES("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"));
	put_fde(m, CODE_VADDR + BASE, 0x40, BYTES("\x0c\x03\x10"));
	put_fde(m, CODE_VADDR + SCRATCH, 0x40, BYTES("\x0c\x09\x10"));
	put_fde(m, CODE_VADDR + PLT, 0x40,
		BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"));
	put_fde(m, CODE_VADDR + INDEX, 0x40,
		BYTES("\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08"));
	put_fde(m, CODE_VADDR + JUMP, 0x40, BYTES("\x0c\x05\x00\x09\x07\x08\x09\x10\x01"));
	put_fde(m, CODE_VADDR + POPPED, 0x40, BYTES("\x86\x02\x83\x03"));
	put_fde(m, CODE_VADDR + BELOW, 0x40, BYTES("\x0f\x05\x77\x78\x06\x23\x08\x83\x02"));
	put_fde(m, CODE_VADDR + RISE, 0x40, BYTES("\x0e\x00"));
}

/* The same places, as far as they have a sense on AArch64. */
static void put_arm64_functions(struct cfi_maker *m)
{
	put_usual_cie(m);
	put_fde(m, CODE_VADDR + START, 0x40, BYTES("\x07\x1e"));
	put_fde(m, CODE_VADDR + PLAIN, 0x40, BYTES("")); /* a leaf: all in registers */
	put_fde(m, CODE_VADDR + SAVES, 0x40, BYTES("\x0e\x20\x9d\x04\x9e\x03"));
	put_fde(m, CODE_VADDR + FRAME, 0x40, BYTES("\x0c\x1d\x20\x9d\x04\x9e\x03"));
}

static void scene_fini(struct scene *s)
{
	unwind_table_free(s->table);
}

static void scene_init(struct scene *s, uint16_t machine)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = machine };
	CLEANUP(buf_fini) struct buf file = { 0 };
	char code[RESTORER + 12] = { 0 };
	struct elf_image image;
	struct err e;

	if (machine == EM_X86_64) {
		put_x86_functions(&m);
		memcpy(code + RESTORER, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	} else {
		put_arm64_functions(&m);
		memcpy(code + RESTORER - 1, "\x68\x11\x80\xd2\x01\0\0\xd4", 8);
	}
	memset(s, 0, sizeof *s);
	image = make_elf(&m, BYTES(code), 0, &file);
	if (!CHECK_INT(unwind_table_new(&image, NULL, &s->table, &e), 0))
		return;
	s->machine = machine;
	s->maps[0] = (struct unwind_map){
		.start = CODE, .end = CODE + CODE_LEN, .bias = CODE - CODE_VADDR, .table = s->table
	};
	s->maps[1] = (struct unwind_map){ .start = JIT, .end = JIT + 0x1000 };
	s->space = (struct unwind_space){ s->maps, 2, machine, unwind_space_version() };
	unwind_walker_init(&s->walker, s->slots, ARRAY_LEN(s->slots));
}

/* The thread stands at ip; its sp is at the first word of the stack. */
static void stand_at(struct scene *s, uint64_t ip, uint64_t fp)
{
	s->regs = (struct unwind_regs){ .ip = ip };
	s->words = 0;
	unwind_regs_set(&s->regs, s->machine == EM_X86_64 ? UNWIND_X86_SP : UNWIND_ARM64_SP, STACK);
	unwind_regs_set(&s->regs, s->machine == EM_X86_64 ? UNWIND_X86_BP : UNWIND_ARM64_FP, fp);
}

static void push_words(struct scene *s, size_t count, ...)
{
	va_list args;

	va_start(args, count);
	for (size_t i = 0; i < count && s->words < WORDS_MAX; i++)
		s->stack[s->words++] = va_arg(args, uint64_t);
	va_end(args);
}
#define PUSH(s, ...) push_words(s, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, __VA_ARGS__)

/* "c110 c1aa j50 complete": the frames and how the walk ended; "?2" when guesses were made. */
static void walk_text(struct scene *s, size_t words, uint32_t cap, struct buf *out)
{
	static const char *const ends[] = { "complete", "truncated", "no info", "broken", "full" };
	struct unwind_memory memory = unwind_memory_copy(STACK, s->stack, words * 8);
	struct unwind_frame frames[16];
	struct unwind_stack stack = { .frames = frames, .cap = cap };

	unwind_walk(&s->walker, &s->space, &s->regs, &memory, &stack);
	buf_clear(out);
	for (uint32_t i = 0; i < stack.count; i++) {
		uint64_t pc = frames[i].pc;
		bool is_jit = pc >= JIT && pc < JIT + 0x1000;

		if (pc >= CODE && pc < CODE + CODE_LEN)
			buf_printf(out, "c%llx ", (unsigned long long)pc - CODE);
		else
			buf_printf(out, "%s%llx ", is_jit ? "j" : "",
				   (unsigned long long)(is_jit ? pc - JIT : pc));
	}
	buf_put_str(out, ends[stack.end]);
	if (stack.guessed)
		buf_printf(out, " ?%u", stack.guessed);
}

static void check_walk(struct scene *s, const char *want)
{
	CLEANUP(buf_fini) struct buf got = { 0 };

	walk_text(s, s->words, 16, &got);
	CHECK_STR(got.data, want);
	walk_text(s, s->words, 16, &got); /* from the cache */
	CHECK_STR(got.data, want);
}

static uint64_t at_word(size_t index)
{
	return STACK + 8 * index;
}

#define CALL(function) (CODE + (uint64_t)(function) + 0x10) /* a return address in it */
#define NO UINT64_C(0xdead00000000dead)                     /* a word that should not matter */

static void test_tables(void)
{
	struct scene s;

	scene_init(&s, EM_X86_64);
	/* rbp goes through a frame that does not touch it */
	stand_at(&s, CALL(PLAIN), at_word(4));
	PUSH(&s, NO, CALL(FRAME), NO, NO, /* rbp: */ UINT64_C(7), CALL(START));
	check_walk(&s, "c110 c18f cf complete");
	/* rbp is saved, then used */
	stand_at(&s, CALL(SAVES), NO);
	PUSH(&s, NO, NO, at_word(6), CALL(FRAME), NO, NO, /* rbp: */ UINT64_C(7), CALL(START));
	check_walk(&s, "c150 c18f cf complete");
	/* rbx is saved, then used */
	stand_at(&s, CALL(SAVES), NO);
	PUSH(&s, NO, at_word(5), NO, CALL(BASE), NO, NO, CALL(START));
	check_walk(&s, "c150 c20f cf complete");
	/* the last instructions of a function: rbp and rbx have been taken back from the stack */
	stand_at(&s, CALL(POPPED), at_word(4));
	unwind_regs_set(&s.regs, UNWIND_X86_BX, at_word(4));
	PUSH(&s, CALL(PLAIN), NO, CALL(FRAME), NO, at_word(8), CALL(BASE), NO, NO, NO, NO, NO);
	s.stack[5] = CALL(BASE);
	s.words = 6;
	check_walk(&s, "c650 c10f c18f c20f broken");
	/* rbx is not known */
	stand_at(&s, CALL(BASE), NO);
	PUSH(&s, NO, CALL(START));
	check_walk(&s, "c210 no info");
	/* a realigned stack: the CFA lies below rbp */
	stand_at(&s, CALL(DRAP), at_word(3));
	PUSH(&s, NO, NO, at_word(8), /* rbp: */ at_word(8), NO, NO, NO, CALL(FRAME),
	     /* rbp: */ NO, CALL(START));
	check_walk(&s, "c1d0 c18f cf complete");
	/* the first two bytes of a PLT entry's 16, and its last: the index was pushed */
	stand_at(&s, CODE + PLT + 0x12, NO);
	PUSH(&s, CALL(START));
	check_walk(&s, "c292 cf complete");
	stand_at(&s, CODE + PLT + 0x1b, NO);
	PUSH(&s, UINT64_C(5), CALL(START));
	check_walk(&s, "c29b cf complete");
	scene_fini(&s);
}

/* Registers that only the innermost function has. */
static void test_scratch_registers(void)
{
	struct scene s;

	scene_init(&s, EM_X86_64);
	stand_at(&s, CALL(SCRATCH), NO);
	unwind_regs_set(&s.regs, 9, at_word(2));
	PUSH(&s, NO, NO, NO, CALL(PLAIN), NO, CALL(START));
	check_walk(&s, "c250 c10f cf complete");
	/* its caller relies on one too, so it does not change it */
	stand_at(&s, CALL(PLAIN), NO);
	unwind_regs_set(&s.regs, 9, at_word(3));
	PUSH(&s, NO, CALL(SCRATCH), NO, NO, CALL(START));
	check_walk(&s, "c110 c24f cf complete");
	stand_at(&s, CALL(SCRATCH), NO);
	PUSH(&s, NO, CALL(START));
	check_walk(&s, "c250 no info");
	stand_at(&s, CALL(INDEX), NO);
	unwind_regs_set(&s.regs, 9, 3);
	PUSH(&s, NO, NO, NO, NO, /* 4: */ at_word(6), NO, CALL(START));
	check_walk(&s, "c310 cf complete");
	stand_at(&s, CALL(JUMP), NO);
	unwind_regs_set(&s.regs, 5, 0x1000); /* not on the stack at all */
	unwind_regs_set(&s.regs, 8, at_word(1));
	unwind_regs_set(&s.regs, 1, CALL(PLAIN));
	PUSH(&s, NO, NO, CALL(START));
	check_walk(&s, "c2d0 c10f cf complete");
	scene_fini(&s);
}

/* What a function keeps below sp is in no copy; but there is an older copy of it further up. */
static void test_below_sp(void)
{
	struct scene s;

	scene_init(&s, EM_X86_64);
	stand_at(&s, CALL(BELOW), NO);
	PUSH(&s, NO, /* no code there: */ at_word(3), NO, NO, at_word(6), /* rbx: */ at_word(8),
	     /* 6: */ CALL(BASE), NO, NO, CALL(START));
	check_walk(&s, "c690 c20f cf complete ?1");
	s.words = 4;
	check_walk(&s, "c690 truncated");
	scene_fini(&s);
}

static void test_ends(void)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct scene s;

	scene_init(&s, EM_X86_64);
	stand_at(&s, CALL(PLAIN), NO);
	PUSH(&s, NO, CALL(SAVES), NO, NO, NO, CALL(PLAIN), NO, CALL(START));
	walk_text(&s, 8, 4, &got);
	CHECK_STR(got.data, "c110 c14f c10f cf complete");
	walk_text(&s, 8, 3, &got);
	CHECK_STR(got.data, "c110 c14f c10f full");
	walk_text(&s, 8, 1, &got);
	CHECK_STR(got.data, "c110 full");
	/* The copy ends: only in whole words, and never in the middle of a frame's truth. */
	walk_text(&s, 7, 16, &got);
	CHECK_STR(got.data, "c110 c14f c10f truncated");
	walk_text(&s, 6, 16, &got);
	CHECK_STR(got.data, "c110 c14f c10f truncated");
	walk_text(&s, 5, 16, &got);
	CHECK_STR(got.data, "c110 c14f truncated");
	walk_text(&s, 1, 16, &got);
	CHECK_STR(got.data, "c110 truncated");
	walk_text(&s, 0, 16, &got);
	CHECK_STR(got.data, "c110 truncated");
	s.stack[5] = 0; /* called from 0 */
	walk_text(&s, 8, 16, &got);
	CHECK_STR(got.data, "c110 c14f complete");
	s.stack[5] = 0x12345678;
	walk_text(&s, 8, 16, &got);
	CHECK_STR(got.data, "c110 c14f broken");
	s.stack[5] = CALL(RISE); /* would stay where it is for good */
	s.stack[6] = s.stack[7] = CALL(RISE);
	walk_text(&s, 8, 16, &got);
	CHECK_STR(got.data, "c110 c14f c60f broken");
	scene_fini(&s);
}

static void test_frame_pointers(void)
{
	struct scene s;

	scene_init(&s, EM_X86_64);
	/* JIT, JIT, described, JIT, described */
	stand_at(&s, JIT + 0x10, at_word(1));
	PUSH(&s, NO, /* 1: */ at_word(4), (uint64_t)JIT + 0x20, NO, /* 4: */ at_word(7),
	     CALL(PLAIN), CALL(START) /* not the way */);
	s.words = 6;
	PUSH(&s, NO, /* 7: CFA of PLAIN is 8 */ (uint64_t)JIT + 0x30, /* 8: */ NO, CALL(START));
	s.stack[4] = at_word(8);
	check_walk(&s, "j10 j1f c10f j2f cf complete ?3");
	/* rbp was pushed, and is still the caller's */
	stand_at(&s, JIT + 0x10, at_word(4));
	PUSH(&s, at_word(4), CALL(FRAME), NO, NO, /* 4: */ NO, CALL(START));
	check_walk(&s, "j10 c18f cf complete ?1");
	/* rbp that makes no sense: odd, below sp, too far up, to data, to no code */
	stand_at(&s, JIT + 0x10, at_word(1) + 1);
	PUSH(&s, NO, at_word(4), CALL(START));
	check_walk(&s, "j10 no info");
	stand_at(&s, JIT + 0x10, STACK - 8);
	PUSH(&s, NO, at_word(4), CALL(START));
	check_walk(&s, "j10 no info");
	stand_at(&s, JIT + 0x10, STACK + (16 << 20));
	PUSH(&s, NO, at_word(4), CALL(START));
	check_walk(&s, "j10 no info");
	stand_at(&s, JIT + 0x10, at_word(1));
	PUSH(&s, NO, at_word(4), NO);
	check_walk(&s, "j10 no info");
	/* up the stack, but not copied */
	stand_at(&s, JIT + 0x10, at_word(9));
	PUSH(&s, NO, at_word(4), NO);
	check_walk(&s, "j10 truncated");
	/* frame pointers that lead back down */
	stand_at(&s, JIT + 0x10, at_word(1));
	PUSH(&s, NO, at_word(0), (uint64_t)JIT + 0x20, NO);
	check_walk(&s, "j10 j1f no info ?1");
	/* 0 below described code's file: a thread's start in assembly */
	stand_at(&s, CALL(PLAIN), 0);
	PUSH(&s, NO, CALL(GAP), NO, NO);
	check_walk(&s, "c110 c50f complete");
	scene_fini(&s);
}

/* Code of one template, by what it begins with. */
static void test_trampolines(void)
{
	static const char word[] = "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3";
	static const char frame[] = "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xff\xd1\x5d\xc3";
	struct scene s;

	scene_init(&s, EM_X86_64);
	s.maps[1].rule = unwind_trampoline_rule((const unsigned char *)word, sizeof word - 1);
	stand_at(&s, CALL(PLAIN), NO);
	PUSH(&s, NO, (uint64_t)JIT + 6, NO, CALL(START));
	check_walk(&s, "c110 j5 cf complete");
	s.maps[1].rule = unwind_trampoline_rule((const unsigned char *)frame, sizeof frame - 1);
	s.space.version = unwind_space_version();
	stand_at(&s, CALL(PLAIN), NO);
	PUSH(&s, NO, (uint64_t)JIT + 10, /* 2: */ at_word(4), CALL(FRAME), /* 4: */ NO,
	     CALL(START));
	check_walk(&s, "c110 j9 c18f cf complete");
	CHECK(!unwind_trampoline_rule((const unsigned char *)word, sizeof word - 2));
	CHECK(!unwind_trampoline_rule((const unsigned char *)word + 1, sizeof word - 2));
	CHECK(!unwind_trampoline_rule((const unsigned char *)word, 0));
	scene_fini(&s);
}

/* Assembly that nobody described. */
static void test_leaf_in_gap(void)
{
	struct scene s;

	scene_init(&s, EM_X86_64);
	stand_at(&s, CODE + GAP, NO);
	PUSH(&s, CALL(PLAIN), NO, CALL(START));
	check_walk(&s, "c500 c10f cf complete ?1");
	/* its caller has a frame pointer */
	stand_at(&s, CODE + GAP, at_word(3));
	PUSH(&s, CALL(FRAME), NO, NO, NO, CALL(START));
	check_walk(&s, "c500 c18f cf complete ?1");
	/* it has its own: what is at sp may be anything */
	stand_at(&s, CODE + GAP, at_word(3));
	PUSH(&s, CALL(PLAIN), NO, CALL(START), NO, CALL(START));
	check_walk(&s, "c500 cf complete ?1");
	/* a word of an earlier call is at sp: what would have called that is no code */
	stand_at(&s, CODE + GAP, at_word(3));
	PUSH(&s, CALL(PLAIN), NO, NO, NO, CALL(START));
	check_walk(&s, "c500 cf complete ?1");
	/* its return address is not at sp: by rbp */
	stand_at(&s, CODE + GAP, at_word(3));
	PUSH(&s, NO, NO, NO, NO, CALL(START));
	check_walk(&s, "c500 cf complete ?1");
	/* called through a wild pointer */
	stand_at(&s, 0, NO);
	PUSH(&s, CALL(PLAIN), NO, CALL(START));
	check_walk(&s, "0 c10f cf complete ?1");
	scene_fini(&s);
}

/* The kernel's signal frame: what it interrupted is no call, and all registers come back. */
static void test_signal(void)
{
	struct scene s;
	uint64_t *context;

	scene_init(&s, EM_X86_64);
	stand_at(&s, CALL(PLAIN), NO);
	PUSH(&s, NO, (uint64_t)CODE + RESTORER);
	context = &s.stack[s.words + 5];
	s.words = 2 + 5 + 17;
	memset(context, 0xaa, 17 * 8);
	context[1] = at_word(s.words + 1); /* r9 */
	context[10] = 5;                   /* rbp */
	context[11] = 6;                   /* rbx */
	context[15] = at_word(s.words);    /* rsp */
	context[16] = CODE + SCRATCH;      /* rip: its very first byte */
	PUSH(&s, NO, NO, CALL(START));
	check_walk(&s, "c110 c401 c240 cf complete");
	context[16] = 0; /* a call through a null pointer */
	s.stack[s.words - 3] = CALL(START);
	check_walk(&s, "c110 c401 0 cf complete ?1");
	/* A signal frame that leads to itself: ends. */
	context[16] = CALL(PLAIN);
	context[15] = at_word(0);
	{
		CLEANUP(buf_fini) struct buf got = { 0 };

		walk_text(&s, s.words, 16, &got);
		CHECK(strstr(got.data, "c110 c401 c110 c401") && strstr(got.data, "full"));
	}
	scene_fini(&s);
}

static void test_signal_loop_ends(void)
{
	struct unwind_frame *frames = calloc(100000, sizeof *frames);
	struct unwind_stack stack = { .frames = frames, .cap = 100000 };
	struct unwind_memory memory;
	struct scene s;

	scene_init(&s, EM_X86_64);
	stand_at(&s, CALL(PLAIN), NO);
	PUSH(&s, NO, (uint64_t)CODE + RESTORER);
	s.stack[2 + 5 + 15] = at_word(0);
	s.stack[2 + 5 + 16] = CALL(PLAIN);
	memory = unwind_memory_copy(STACK, s.stack, sizeof s.stack);
	unwind_walk(&s.walker, &s.space, &s.regs, &memory, &stack);
	CHECK_INT(stack.end, UNWIND_BROKEN);
	CHECK(stack.count < 200);
	scene_fini(&s);
	free(frames);
}

static void test_arm64(void)
{
	const uint64_t signature = UINT64_C(0x2a) << 48;
	struct scene s;
	uint64_t *context;

	scene_init(&s, EM_AARCH64);
	/* a leaf that keeps all in registers, then saved and signed ones */
	stand_at(&s, CALL(PLAIN), NO);
	unwind_regs_set(&s.regs, UNWIND_ARM64_LR, CALL(SAVES));
	PUSH(&s, at_word(6), CALL(FRAME) | signature, NO, NO, NO, NO, NO, CALL(START) | signature,
	     NO, NO);
	check_walk(&s, "c110 c14f c18f cf complete");
	/* a caller whose return address is in no memory cannot be */
	stand_at(&s, CALL(SAVES), NO);
	PUSH(&s, NO, CALL(PLAIN), NO, NO, NO);
	check_walk(&s, "c150 c10f broken");
	/* the frame pointer through JIT code: sp is not known behind it, x29 is */
	stand_at(&s, JIT + 0x10, at_word(1));
	PUSH(&s, NO, /* 1: */ at_word(5), (uint64_t)JIT + 0x20, NO, NO, /* 5: */ at_word(7),
	     CALL(SAVES), /* 7: */ at_word(9), CALL(FRAME), /* 9: */ NO, CALL(START), NO);
	check_walk(&s, "j10 j1f c14f c18f cf complete ?3");
	/* what a signal interrupted is like an innermost function */
	stand_at(&s, CALL(SAVES), NO);
	PUSH(&s, NO, (uint64_t)CODE + RESTORER - 1, NO, NO);
	context = &s.stack[4 + 39];
	context[29] = NO;
	context[30] = CALL(START);
	context[31] = at_word(0);
	context[32] = CODE + PLAIN;
	s.words = 4 + 39 + 33;
	check_walk(&s, "c150 c400 c100 cf complete");
	s.words--;
	check_walk(&s, "c150 c400 truncated");
	scene_fini(&s);
}

static void test_space(void)
{
	static const struct unwind_map maps[] = { { .start = 0x1000, .end = 0x2000 },
						  { .start = 0x2000, .end = 0x3000 },
						  { .start = 0x5000, .end = UINT64_MAX } };
	const struct unwind_space space = { .maps = maps, .count = ARRAY_LEN(maps) };
	const struct unwind_space empty = { 0 };
	static const struct {
		uint64_t address;
		int index; /* -1: none */
	} rows[] = { { 0, -1 },     { 0xfff, -1 },     { 0x1000, 0 },  { 0x1fff, 0 },
		     { 0x2000, 1 }, { 0x2fff, 1 },     { 0x3000, -1 }, { 0x4fff, -1 },
		     { 0x5000, 2 }, { UINT64_MAX, -1 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct unwind_map *map = unwind_space_find(&space, rows[i].address);

		CHECK(map == (rows[i].index < 0 ? NULL : &maps[rows[i].index]));
	}
	CHECK(!unwind_space_find(&empty, 0));
}

/* Memory of a process, in pieces, with a hole. */
static void test_process_memory(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static unsigned char window[65536];
	struct unwind_memory m = unwind_memory_process(getpid(), window, sizeof window);
	uint64_t base = (uintptr_t)pages, value = 0;

	if (!CHECK(pages != MAP_FAILED))
		return;
	munmap(pages + 2 * page, page);
	for (size_t i = 0; i < 2 * page / 8; i++)
		memcpy(pages + i * 8, &i, 8);
	for (size_t i = 0; i < 2 * page / 8; i += 13) {
		CHECK(unwind_memory_word(&m, base + i * 8, &value));
		CHECK_INT(value, i);
	}
	CHECK(unwind_memory_word(&m, base + 2 * page - 8, &value));
	CHECK_INT(value, 2 * page / 8 - 1);
	CHECK(unwind_memory_word(&m, base, &value)); /* back */
	CHECK_INT(value, 0);
	CHECK(!unwind_memory_word(&m, base + 2 * page - 4, &value));
	CHECK(!unwind_memory_word(&m, base + 2 * page, &value));
	CHECK(!unwind_memory_word(&m, 0, &value));
	CHECK(!unwind_memory_word(&m, UINT64_MAX - 3, &value));
	munmap(pages, 2 * page);
}

static void test_copied_memory(void)
{
	static const unsigned char bytes[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	struct unwind_memory m = unwind_memory_copy(0x100, bytes, sizeof bytes);
	struct unwind_memory own = unwind_memory_own((uintptr_t)bytes, (uintptr_t)bytes + 8);
	uint64_t value;

	CHECK(unwind_memory_word(&m, 0x100, &value));
	CHECK_INT(value, 0x0807060504030201);
	CHECK(unwind_memory_word(&m, 0x104, &value));
	CHECK(!unwind_memory_word(&m, 0x105, &value));
	CHECK(!unwind_memory_word(&m, 0xff, &value));
	CHECK(!unwind_memory_word(&m, UINT64_MAX, &value));
	CHECK(unwind_memory_word(&own, (uintptr_t)bytes, &value));
	CHECK(!unwind_memory_word(&own, (uintptr_t)bytes + 1, &value));
	m = unwind_memory_copy(0x100, bytes, 7);
	CHECK(!unwind_memory_word(&m, 0x100, &value));
	m = unwind_memory_copy(0x100, NULL, 0);
	CHECK(!unwind_memory_word(&m, 0x100, &value));
}

int main(void)
{
	TAP_CASE(test_tables);
	TAP_CASE(test_scratch_registers);
	TAP_CASE(test_below_sp);
	TAP_CASE(test_ends);
	TAP_CASE(test_frame_pointers);
	TAP_CASE(test_trampolines);
	TAP_CASE(test_leaf_in_gap);
	TAP_CASE(test_signal);
	TAP_CASE(test_signal_loop_ends);
	TAP_CASE(test_arm64);
	TAP_CASE(test_space);
	TAP_CASE(test_process_memory);
	TAP_CASE(test_copied_memory);
	return tap_done();
}
