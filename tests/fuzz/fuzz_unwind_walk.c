/* SPDX-License-Identifier: MIT */
/*
 * A stack and broken call frame information: the walk ends, reads nothing but the stack's
 * copy, goes up but at signal frames, and answers the same from its cache. What a chain of
 * frame pointers continues keeps what was there.
 *
 * Input: a byte as in fuzz_unwind_table, the section's length (2 bytes), ip, sp, frame pointer
 * and the further register (8 bytes each), the section, the copy of the stack. The chain is all
 * from ip on.
 */
#include "cfi_image.h"
#include "unwind/fp_chain.h"
#include "unwind/walk.h"

#define FRAMES_MAX 1000
#define HEAD (1 + 2 + 4 * 8)
#define CODE UINT64_C(0x400000)
#define JIT UINT64_C(0x7f0000000000)

static struct unwind_stack walk(struct unwind_walker *walker, const struct unwind_space *space,
				const struct unwind_regs *regs, const uint8_t *copy, size_t len,
				struct unwind_frame *frames)
{
	const struct unwind_arch *arch = unwind_arch_of(space->machine);
	struct unwind_memory memory = unwind_memory_copy(regs->r[arch->sp], copy, len);
	struct unwind_stack stack = { .frames = frames, .cap = FRAMES_MAX };

	unwind_walk(walker, space, regs, &memory, &stack);
	FUZZ_CHECK(memory.bytes == copy && memory.len == len);
	return stack;
}

static void check_stack(const struct unwind_stack *stack)
{
	uint32_t down = 0;

	FUZZ_CHECK(stack->count >= 1 && stack->count <= stack->cap);
	FUZZ_CHECK(stack->end <= UNWIND_FULL && stack->guessed <= stack->count);
	for (uint32_t i = 1; i < stack->count; i++)
		down += stack->frames[i].sp <= stack->frames[i - 1].sp;
	FUZZ_CHECK(down <= 130); /* signal frames, and on AArch64 what they interrupted */
}

static void check_links(struct unwind_walker *walker, const struct unwind_space *space,
			const struct unwind_regs *regs, const struct fp_chain *links,
			struct unwind_stack *stack, const uint8_t *copy, size_t len)
{
	const struct unwind_arch *arch = unwind_arch_of(space->machine);
	struct unwind_memory memory = unwind_memory_copy(regs->r[arch->sp], copy, len);
	const struct unwind_stack before = *stack;
	struct unwind_frame last = stack->frames[stack->count - 1];
	bool is_more = fp_chain_extend(walker, space, regs, &memory, links, stack);

	FUZZ_CHECK(is_more == (stack->count > before.count));
	FUZZ_CHECK(stack->count <= stack->cap && stack->count - before.count <= links->count);
	FUZZ_CHECK(stack->end == before.end || before.end == UNWIND_TRUNCATED);
	FUZZ_CHECK(stack->frames[before.count - 1].pc == last.pc);
}

static void check_walks(const struct unwind_table *table, uint16_t machine, const uint64_t *words,
			const struct fp_chain *links, const uint8_t *copy, size_t len)
{
	static struct unwind_frame first[FRAMES_MAX], second[FRAMES_MAX];
	const struct unwind_map maps[] = {
		{ CODE, CODE + UINT32_MAX, CODE, table, NULL, NULL },
		{ JIT, JIT + 0x10000, 0, NULL, NULL, NULL },
	};
	const struct unwind_space space = { maps, 2, machine, unwind_space_version() };
	const struct unwind_arch *arch = unwind_arch_of(machine);
	struct unwind_slot slots[16] = { 0 };
	struct unwind_regs regs = { .ip = words[0] };
	struct unwind_walker walker;
	struct unwind_stack a, b;

	unwind_regs_set(&regs, arch->sp, words[1]);
	unwind_regs_set(&regs, arch->save[UNWIND_FP], words[2]);
	unwind_regs_set(&regs, machine == EM_X86_64 ? UNWIND_X86_BX : UNWIND_ARM64_LR, words[3]);
	unwind_walker_init(&walker, slots, 16);
	a = walk(&walker, &space, &regs, copy, len, first);
	check_stack(&a);
	b = walk(&walker, &space, &regs, copy, len, second);
	FUZZ_CHECK(a.count == b.count && a.end == b.end && a.guessed == b.guessed);
	FUZZ_CHECK(memcmp(first, second, a.count * sizeof *first) == 0);
	check_links(&walker, &space, &regs, links, &b, copy, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t machine, cfi_len;
	struct unwind_table *table;
	struct cfi_image made;
	struct fp_chain links;
	uint64_t words[4];
	struct err e;

	if (size < HEAD)
		return 0;
	links = (struct fp_chain){ data + 3, (size - 3) / 8 };
	machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	memcpy(&cfi_len, data + 1, sizeof cfi_len);
	memcpy(words, data + 3, sizeof words);
	if (cfi_len > size - HEAD)
		cfi_len = (uint16_t)(size - HEAD);
	made = cfi_image_make(machine, data[0] & 2, data + HEAD, cfi_len);
	FUZZ_CHECK(unwind_table_new(&made.image, NULL, &table, &e) == 0);
	check_walks(table, machine, words, &links, data + HEAD + cfi_len, size - HEAD - cfi_len);
	unwind_table_free(table);
	cfi_image_fini(&made);
	return 0;
}
