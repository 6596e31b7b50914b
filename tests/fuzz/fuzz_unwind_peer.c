/* SPDX-License-Identifier: MIT */
/*
 * A function's call frame information and a stack: where it leads to a caller, it is the caller
 * that libunwind finds, with the same stack and frame pointer.
 *
 * Input: the place in the function (1 byte), the lengths of the first instructions (CIE) and of the
 * function's (FDE; 1 byte each), frame pointer and rbx (2 bytes each, from the stack's start on),
 * these instructions, the stack.
 */
#include <elf.h>
#include <libunwind-x86_64.h>
#include <string.h>

#include "base/macros.h"
#include "cfi_image.h"
#include "unwind/walk.h"

/* libunwind's, for one step by call frame information only; its unw_step() guesses, too.
 * Source: libunwind 1.6.2, dwarf_i.h: a cursor begins with a struct dwarf_cursor. */
int _Ux86_64_dwarf_step(void *cursor);
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *ret, int need_info, void *world);

/* Of libunwind's local half, which is not linked; nothing here resumes. */
int _Ux86_64_setcontext(const void *context);

int _Ux86_64_setcontext(const void *context)
{
	(void)context;
	return -1;
}

/* What libunwind takes differently where it is wrong: a location that goes back (DW_CFA_set_loc),
 * a register in one that does not exist (DW_CFA_register), register 17 (there is none; its CFA), an
 * instruction of AArch64. A function with such a byte is
 * left out. */
static const uint8_t odd[] = { 0x01, 0x09, 0x11, 0x2c };

#define HEAD 7
#define CFI UINT64_C(0x10000)  /* where cfi_image.h has the section */
#define TABLE UINT64_C(0x8000) /* of libunwind: one function */
#define CODE UINT64_C(0x400000)
#define CODE_SIZE 256
#define STACK UINT64_C(0x7ff000000000)
#define MOST 128 /* bytes of instructions */

struct world {
	uint8_t cfi[2 * MOST + 64];
	size_t cfi_len;
	uint64_t fde; /* in cfi */
	const uint8_t *stack;
	size_t stack_len;
	uint64_t ip, sp, bp, bx;
};

/* A record of .eh_frame: its length, the body, padding. */
static size_t put_record(uint8_t *to, const void *head, size_t head_len, const uint8_t *code,
			 size_t len)
{
	size_t all = (4 + head_len + len + 7) / 8 * 8;
	uint32_t size = (uint32_t)all - 4;

	memset(to, 0, all); /* DW_CFA_nop */
	memcpy(to, &size, 4);
	memcpy(to + 4, head, head_len);
	memcpy(to + 4 + head_len, code, len);
	return all;
}

static void make_cfi(struct world *w, const uint8_t *cie, size_t cie_len, const uint8_t *fde,
		     size_t fde_len)
{
	/* id 0, version 1, no augmentation, factors 1 and -8, return address in 16 */
	static const uint8_t cie_head[] = { 0, 0, 0, 0, 1, 0, 1, 0x78, 16 };
	uint8_t fde_head[20];
	uint64_t range[2] = { CODE, CODE_SIZE };
	uint32_t to_cie;

	w->fde = put_record(w->cfi, cie_head, sizeof cie_head, cie, cie_len);
	to_cie = (uint32_t)w->fde + 4;
	memcpy(fde_head, &to_cie, 4);
	memcpy(fde_head + 4, range, 16);
	w->cfi_len = w->fde + put_record(w->cfi + w->fde, fde_head, sizeof fde_head, fde, fde_len);
	memset(w->cfi + w->cfi_len, 0, 8); /* the end */
	w->cfi_len += 8;
}

static int find_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *ret, int need_info,
		     void *arg)
{
	unw_dyn_info_t di = { .start_ip = CODE,
			      .end_ip = CODE + CODE_SIZE,
			      .format = UNW_INFO_FORMAT_REMOTE_TABLE };

	if (ip < CODE || ip >= CODE + CODE_SIZE)
		return -UNW_ENOINFO;
	di.u.rti.segbase = TABLE;
	di.u.rti.table_data = TABLE;
	di.u.rti.table_len = 1;
	return _Ux86_64_dwarf_search_unwind_table(space, ip, &di, ret, need_info, arg);
}

static void put_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	(void)space;
	(void)info;
	(void)arg;
}

static int find_list(unw_addr_space_t space, unw_word_t *ret, void *arg)
{
	(void)space;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

static int read_part(uint64_t address, uint64_t start, const void *bytes, size_t len,
		     unw_word_t *ret)
{
	if (address < start || address - start >= len)
		return -UNW_EINVAL;
	*ret = 0;
	len -= address - start;
	memcpy(ret, (const char *)bytes + (address - start), len < 8 ? len : 8);
	return 0;
}

static int read_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *ret, int is_write,
		       void *arg)
{
	const struct world *w = arg;
	const int32_t table[2] = { (int32_t)(CODE - TABLE), (int32_t)(CFI + w->fde - TABLE) };

	(void)space;
	if (is_write)
		return -UNW_EINVAL;
	if (address >= STACK && address - STACK + 8 > w->stack_len)
		return -UNW_EINVAL;
	if (read_part(address, STACK, w->stack, w->stack_len, ret) == 0)
		return 0;
	if (read_part(address, CFI, w->cfi, w->cfi_len, ret) == 0)
		return 0;
	return read_part(address, TABLE, table, sizeof table, ret);
}

static int read_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value,
			 int is_write, void *arg)
{
	const struct world *w = arg;

	(void)space;
	if (is_write)
		return -UNW_EREADONLYREG;
	if (number == UNW_X86_64_RIP)
		*value = w->ip;
	else if (number == UNW_X86_64_RSP)
		*value = w->sp;
	else if (number == UNW_X86_64_RBP)
		*value = w->bp;
	else if (number == UNW_X86_64_RBX)
		*value = w->bx;
	else
		return -UNW_EBADREG;
	return 0;
}

static int no_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int is_write,
		    void *arg)
{
	(void)space;
	(void)number;
	(void)value;
	(void)is_write;
	(void)arg;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	(void)space;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t ip, char *name, size_t len, unw_word_t *ret,
		   void *arg)
{
	(void)space;
	(void)ip;
	(void)name;
	(void)len;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

/* The caller, in the registers that a walk follows. */
struct caller {
	uint64_t ip, sp;
	uint64_t bp; /* of ours: 0: not known */
};

static bool get_reg(unw_cursor_t *cursor, int number, uint64_t *ret)
{
	unw_word_t value;

	if (unw_get_reg(cursor, number, &value) != 0)
		return false;
	*ret = value;
	return true;
}

/* By libunwind. false: none. */
static bool step_theirs(struct world *w, struct caller *ret)
{
	static unw_accessors_t calls = { find_info,     put_info, find_list, read_memory,
					 read_register, no_fpreg, no_resume, no_name };
	static unw_addr_space_t space;
	unw_cursor_t cursor;

	if (!space)
		space = unw_create_addr_space(&calls, 0);
	FUZZ_CHECK(space);
	unw_flush_cache(space, 0, 0);
	unw_set_caching_policy(space, UNW_CACHE_NONE);
	if (unw_init_remote(&cursor, space, w) != 0 || _Ux86_64_dwarf_step(&cursor) <= 0)
		return false;
	if (!get_reg(&cursor, UNW_X86_64_RBP, &ret->bp))
		ret->bp = 0;
	return get_reg(&cursor, UNW_REG_IP, &ret->ip) && ret->ip &&
	       get_reg(&cursor, UNW_REG_SP, &ret->sp);
}

static bool step_ours(const struct world *w, const struct unwind_table *table, struct caller *ret)
{
	const struct unwind_map map = { CODE, CODE + UINT32_MAX / 2, 0, table, NULL, NULL };
	const struct unwind_space space = { &map, 1, EM_X86_64, unwind_space_version() };
	struct unwind_memory memory = unwind_memory_copy(STACK, w->stack, w->stack_len);
	struct unwind_frame frames[2];
	struct unwind_stack stack = { .frames = frames, .cap = 2 };
	struct unwind_slot slots[16] = { 0 };
	struct unwind_regs regs = { .ip = w->ip };
	struct unwind_walker walker;

	unwind_regs_set(&regs, UNWIND_X86_SP, w->sp);
	unwind_regs_set(&regs, UNWIND_X86_BP, w->bp);
	unwind_regs_set(&regs, UNWIND_X86_BX, w->bx);
	unwind_walker_init(&walker, slots, 16);
	unwind_walk(&walker, &space, &regs, &memory, &stack);
	*ret = (struct caller){ frames[1].pc + 1, frames[1].sp, stack.fp };
	return stack.count == 2 && stack.guessed == 0;
}

static void compare(struct world *w)
{
	struct cfi_image made = cfi_image_make(EM_X86_64, false, w->cfi, w->cfi_len);
	struct unwind_table *table;
	struct caller ours, theirs;
	struct err e;

	FUZZ_CHECK(unwind_table_new(&made.image, NULL, &table, &e) == 0);
	if (step_ours(w, table, &ours) && step_theirs(w, &theirs)) {
		FUZZ_CHECK(ours.ip == theirs.ip && ours.sp == theirs.sp);
		if (ours.bp && theirs.bp)
			FUZZ_CHECK(ours.bp == theirs.bp);
	}
	unwind_table_free(table);
	cfi_image_fini(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .sp = STACK };
	uint16_t words[2];
	size_t cie_len, fde_len;

	if (size < HEAD)
		return 0;
	cie_len = data[1] % MOST;
	fde_len = data[2] % MOST;
	if (size < HEAD + cie_len + fde_len)
		return 0;
	memcpy(words, data + 3, sizeof words);
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		if (memchr(data + HEAD + cie_len, odd[i], fde_len))
			return 0;
	w.ip = CODE + data[0];
	w.bp = STACK + words[0];
	w.bx = STACK + words[1];
	make_cfi(&w, data + HEAD, cie_len, data + HEAD + cie_len, fde_len);
	w.stack = data + HEAD + cie_len + fde_len;
	w.stack_len = size - HEAD - cie_len - fde_len;
	compare(&w);
	return 0;
}
