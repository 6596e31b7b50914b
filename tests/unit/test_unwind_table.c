/* SPDX-License-Identifier: MIT */
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>

#include "cfi_maker.h"
#include "tap.h"

static void put_save(struct buf *out, const char *name, uint8_t save, int32_t at)
{
	switch (save) {
	case UNWIND_SAVE_SAME:
		return;
	case UNWIND_SAVE_AT_CFA:
		buf_printf(out, " %s=c%+d", name, at);
		return;
	case UNWIND_SAVE_AT_SP:
		buf_printf(out, " %s=sp%+d", name, at);
		return;
	case UNWIND_SAVE_AT_FP:
		buf_printf(out, " %s=fp%+d", name, at);
		return;
	case UNWIND_SAVE_IN_REG:
		buf_printf(out, " %s=r%d", name, at);
		return;
	case UNWIND_SAVE_IS_CFA:
		buf_printf(out, " %s=&c%+d", name, at);
		return;
	default:
		buf_printf(out, " %s=?", name);
	}
}

/* Words for a rule; what x86-64's call itself does (ra=c-8) is not said. */
static void put_rule(struct buf *out, const struct unwind_rule *r)
{
	switch (r->cfa) {
	case UNWIND_CFA_NONE:
		buf_put_str(out, "gap");
		return;
	case UNWIND_CFA_UNKNOWN:
		buf_put_str(out, "unknown");
		return;
	case UNWIND_CFA_END:
		buf_put_str(out, "end");
		return;
	case UNWIND_CFA_SIGNAL:
		buf_printf(out, "signal%+d", r->offset);
		return;
	case UNWIND_CFA_SP:
		buf_printf(out, "sp%+d", r->offset);
		break;
	case UNWIND_CFA_FP:
		buf_printf(out, "fp%+d", r->offset);
		break;
	case UNWIND_CFA_REG:
		buf_printf(out, "r%d%+d", r->reg, r->offset);
		break;
	case UNWIND_CFA_JUMP:
		buf_printf(out, "jump r%d%+d to r%d", r->reg, r->offset, r->add);
		break;
	case UNWIND_CFA_INDEX:
		buf_printf(out, "*(sp+8*r%d%+d)%+d", r->reg, r->offset, r->add);
		break;
	case UNWIND_CFA_DEREF:
		buf_printf(out, "*(r%d%+d)%+d", r->reg, r->offset, r->add);
		break;
	default:
		buf_printf(out, "plt r%d%+d from %d", r->reg, r->offset, r->add);
	}
	if (r->save[UNWIND_RA] != UNWIND_SAVE_AT_CFA || r->at[UNWIND_RA] != -8)
		put_save(out, "ra", r->save[UNWIND_RA], r->at[UNWIND_RA]);
	put_save(out, "fp", r->save[UNWIND_FP], r->at[UNWIND_FP]);
	put_save(out, "aux", r->save[UNWIND_AUX], r->at[UNWIND_AUX]);
	if (r->is_signal)
		buf_put_str(out, " interrupted");
}

/* All rows: "offset: rule; offset: rule". */
static void put_rows(struct buf *out, const struct unwind_table *t)
{
	uint32_t count = unwind_table_measure(t).rows;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t vaddr;
		const struct unwind_rule *rule = unwind_table_row(t, i, &vaddr);

		buf_printf(out, "%s%llx: ", i ? "; " : "", (unsigned long long)vaddr - CODE_VADDR);
		put_rule(out, rule);
	}
}

static void check_rows(const struct cfi_maker *m, struct bytes code, uint64_t entry,
		       const char *want)
{
	CLEANUP(buf_fini) struct buf file = { 0 }, got = { 0 };
	struct elf_image image = make_elf(m, code, entry, &file);
	struct unwind_table *t;
	struct err e;

	if (!CHECK_INT(unwind_table_new(&image, NULL, &t, &e), 0))
		return;
	put_rows(&got, t);
	CHECK_STR(got.data, want);
	unwind_table_free(t);
}

/* The program of one function of 0x40 bytes at 0x100, behind the usual CIE. */
static const struct {
	const char *want; /* rows of the function */
	struct bytes program;
} programs[] = {
	{ "sp+8", BYTES_INIT("") },
	/* push rbx; push rbp; ...; pop; pop */
	{ "sp+8; 101: sp+16 aux=c-16; 103: sp+24 fp=c-24 aux=c-16; 120: sp+16 fp=c-24 "
	  "aux=c-16; 121: sp+8 fp=c-24 aux=c-16",
	  BYTES_INIT("\x41\x0e\x10\x83\x02\x42\x0e\x18\x86\x03\x5d\x0e\x10\x41\x0e\x08") },
	/* push rbp; mov rsp, rbp */
	{ "sp+8; 101: sp+16 fp=c-16; 104: fp+16 fp=c-16",
	  BYTES_INIT("\x41\x0e\x10\x86\x02\x43\x0d\x06") },
	/* advance by 1, 2, 4, 8 bytes, set_loc */
	{ "sp+8; 110: sp+16; 120: sp+24; 130: sp+32; 138: sp+40; 13c: sp+48",
	  BYTES_INIT("\x02\x10\x0e\x10\x03\x10\x00\x0e\x18\x04\x10\x00\x00\x00\x0e\x20"
		     "\x1d\x08\x00\x00\x00\x00\x00\x00\x00\x0e\x28"
		     "\x01\x3c\x11\x00\x00\x00\x00\x00\x00\x0e\x30") },
	/* past the end of the function */
	{ "sp+8", BYTES_INIT("\x02\x40\x0e\x10") },
	{ "sp+8", BYTES_INIT("\x04\xff\xff\xff\xff\x0e\x10") },
	/* remember, restore: CFA and registers */
	{ "sp+8; 101: sp+16 aux=c-16; 102: sp+8; 103: sp+16 aux=c-16",
	  BYTES_INIT("\x41\x0e\x10\x83\x02\x0a\x41\x0e\x08\xc3\x41\x0b") },
	/* offset_extended, restore_extended, same_value */
	{ "sp+8 fp=c-16 aux=c-24; 101: sp+8 aux=c-24; 102: sp+8",
	  BYTES_INIT("\x05\x06\x02\x05\x03\x03\x41\x06\x06\x41\x08\x03") },
	/* offset_extended_sf, negative_offset_extended, def_cfa_sf, def_cfa_offset_sf */
	{ "sp+16 fp=c-16 aux=c+16; 101: sp+24 fp=c-16 aux=c+16",
	  BYTES_INIT("\x11\x06\x02\x2f\x03\x02\x12\x07\x7e\x41\x13\x7d") },
	/* undefined, register, val_offset, val_offset_sf */
	{ "r7+8 fp=? aux=r2; 101: r7+8 fp=&c-16 aux=r2; 102: r7+8 fp=&c+16 aux=r2",
	  BYTES_INIT("\x07\x06\x09\x03\x02\x41\x14\x06\x02\x41\x15\x06\x7e") },
	/* the return address in a register; undefined: the outermost function */
	{ "r7+0 ra=r1; 101: end", BYTES_INIT("\x0c\x07\x00\x09\x10\x01\x41\x07\x10") },
	/* longjmp: a buffer at rdi, then rsp is r8 and rip is rdx */
	{ "sp+8; 103: jump r5+0 to r8 ra=r1 aux=c+0; 104: sp+8",
	  BYTES_INIT("\x43\x0a\x0c\x05\x00\x09\x07\x08\x09\x10\x01\x83\x00\x41\x0b") },
	/* registers that are not followed, args_size, nop */
	{ "sp+8", BYTES_INIT("\x8f\x02\x8e\x03\x2e\x10\x00\x09\x0c\x0d\x07\x0e\xce") },
	/* CFA in another register: rbx, r10 */
	{ "r3+24; 101: r10+0", BYTES_INIT("\x0c\x03\x18\x41\x0c\x0a\x00") },
	/* realigned stack: r10, then *(rbp - 8) and rbp at rbp + 0, then r10 again */
	{ "sp+8; 105: r10+0; 10d: r10+0 fp=fp+0; 112: *(r6-8)+0 fp=fp+0; 130: r10+0 "
	  "fp=fp+0",
	  BYTES_INIT("\x45\x0c\x0a\x00\x48\x10\x06\x02\x76\x00\x45\x0f\x03\x76\x78\x06\x5e\x0c"
		     "\x0a\x00") },
	/* openssl: *(rsp + 0x98) + 8 */
	{ "*(r7+152)+8", BYTES_INIT("\x0f\x06\x77\x98\x01\x06\x23\x08") },
	{ "r5+16", BYTES_INIT("\x0f\x02\x75\x10") },
	{ "*(sp+8*r9+8)+8", BYTES_INIT("\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08") },
	/* saved at rsp + 16; at a register that is not followed; by a value */
	{ "r7+8 fp=? aux=sp+16; 101: r7+8 fp=? aux=?",
	  BYTES_INIT("\x10\x06\x02\x75\x10\x10\x03\x02\x77\x10\x41\x16\x03\x01\x30") },
	/* what cannot be followed: an expression of something else, a return address that
	 * is lost; another def_cfa mends it */
	{ "unknown; 101: sp+16", BYTES_INIT("\x0f\x01\x9c\x41\x0c\x07\x10") },
	{ "unknown", BYTES_INIT("\x10\x10\x02\x75\x10") },
	{ "unknown; 101: sp+8", BYTES_INIT("\x0c\x40\x08\x41\x0c\x07\x08") },
	{ "unknown; 101: sp+8", BYTES_INIT("\x0c\x07\x80\x80\x80\x80\x10\x41\x0c\x07\x08") },
	/* nonsense: unknown from there on */
	{ "sp+8; 104: unknown", BYTES_INIT("\x44\x3f\x41\x0e\x10") },
	{ "unknown", BYTES_INIT("\x0b") },
	{ "sp+8; 101: unknown", BYTES_INIT("\x41\x0e") },
	{ "sp+8; 101: unknown", BYTES_INIT("\x41\x0f\x7f\x77") },
	{ "unknown",
	  BYTES_INIT("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a") },
};

static void test_instructions(void)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };
		CLEANUP(buf_fini) struct buf want = { 0 };

		put_usual_cie(&m);
		put_fde(&m, CODE_VADDR + 0x100, 0x40, programs[i].program);
		buf_printf(&want, "0: gap; 100: %s; 140: gap", programs[i].want);
		check_rows(&m, BYTES(""), 0, want.data);
	}
}

static void test_special_frames(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };

	/* .plt as ld writes it */
	put_usual_cie(&m);
	put_fde(&m, CODE_VADDR, 0x40,
		BYTES("\x0e\x10\x46\x0e\x18\x4a\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"));
	/* glibc's __restore_rt: CFA *(rsp + 160), rip at rsp + 168 */
	put_cie(&m, "zRS", BYTES(""));
	put_fde(&m, CODE_VADDR + 0x80, 0x10,
		BYTES("\x0f\x04\x77\xa0\x01\x06\x10\x10\x03\x77\xa8\x01\x10\x06\x03\x77\xf8\x00"));
	/* another one with that flag */
	put_cie(&m, "zRS", BYTES("\x0c\x07\x08\x90\x01"));
	put_fde(&m, CODE_VADDR + 0xa0, 0x10, BYTES(""));
	check_rows(&m, BYTES(""), 0,
		   "0: sp+16; 6: sp+24; 10: plt r7+8 from 11; 40: gap; 80: signal+0; 91: gap; "
		   "a0: r7+8 interrupted; b0: gap");
}

/* Signal restorers and a program start that nobody described. */
static void test_gaps(void)
{
	static const char code[] = "\x90\x48\xc7\xc0\x0f\0\0\0\x0f\x05" /* 1..10 */
				   "\x90\x90\x90\xb8\x0f\0\0\0\x0f\x05" /* 13..20 */
				   "\xb8\x0e\0\0\0\x0f\x05";            /* another call */
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };
	CLEANUP(maker_fini) struct cfi_maker arm = { .machine = EM_AARCH64 };

	check_rows(&m, BYTES(code), 0, "0: signal+0; b: gap; c: signal+0; 15: gap");
	check_rows(&m, BYTES(""), CODE_VADDR + 0x10, "0: gap; 10: end; 40: gap");
	check_rows(&arm, BYTES("\0\0\0\0\x68\x11\x80\xd2\x01\0\0\xd4"), 0,
		   "0: gap; 3: signal+0; d: gap");
	/* described ones are not searched */
	put_usual_cie(&m);
	put_fde(&m, CODE_VADDR, CODE_LEN, BYTES(""));
	check_rows(&m, BYTES(code), CODE_VADDR + 0x10, "0: sp+8");
}

static void test_arm64(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_AARCH64 };

	/* paciasp; stp x29, x30, [sp, -32]!; mov x29, sp; ...; ldp; autiasp; ret */
	put_usual_cie(&m);
	put_fde(&m, CODE_VADDR, 0x40,
		BYTES("\x41\x2d\x41\x0e\x20\x9d\x04\x9e\x03\x41\x0d\x1d\x49\xde\xdd\x0c\x1f\x00\x41\x2d"));
	check_rows(&m, BYTES(""), 0,
		   "0: r31+0; 8: sp+32 ra=c-24 fp=c-32; c: fp+32 ra=c-24 fp=c-32; 30: r31+0; "
		   "40: gap");
}

/* Functions in any order, twice, overlapping, dropped by the linker, with empty records
 * between them. */
static void test_order(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };

	put_usual_cie(&m);
	put_fde(&m, CODE_VADDR + 0x200, 0x10, BYTES("\x0e\x20"));
	put_fde(&m, 0, 0x10, BYTES("\x0e\x28"));
	put_fde(&m, CODE_VADDR + 0x100, 0x10, BYTES("\x0e\x10"));
	buf_put_u32(&m.cfi, 0);
	put_fde(&m, CODE_VADDR + 0x108, 0x10, BYTES("\x0e\x18\x44\x0e\x08\x46\x0e\x30"));
	put_fde(&m, CODE_VADDR + 0x100, 0x10, BYTES("\x0e\x38"));
	put_fde(&m, CODE_VADDR + CODE_LEN - 8, 0x10, BYTES("\x0e\x40"));
	put_fde(&m, CODE_VADDR + 0x300, 0, BYTES("\x0e\x40"));
	put_fde(&m, CODE_VADDR + 0x300, UINT64_MAX, BYTES("\x0e\x40"));
	check_rows(&m, BYTES(""), 0,
		   "0: gap; 100: sp+16; 110: sp+8; 112: sp+48; 118: gap; 200: sp+32; 210: gap");
}

/* .debug_frame tells of what .eh_frame lacks; here in a file of its own. */
static void test_debug_file(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };
	CLEANUP(maker_fini) struct cfi_maker d = { .machine = EM_X86_64, .is_debug = true };
	CLEANUP(buf_fini) struct buf file = { 0 }, debug_file = { 0 }, got = { 0 };
	struct elf_image image, debug;
	struct unwind_table *t;
	struct err e;

	put_usual_cie(&m);
	put_fde(&m, CODE_VADDR + 0x100, 0x10, BYTES("\x0e\x10"));
	put_cie(&d, "", BYTES("\x0c\x07\x08\x90\x01"));
	put_fde(&d, CODE_VADDR + 0x100, 0x10, BYTES("\x0e\x18"));
	put_fde(&d, CODE_VADDR + 0x200, 0x10, BYTES("\x0e\x20"));
	image = make_elf(&m, BYTES(""), 0, &file);
	debug = make_elf(&d, BYTES(""), 0, &debug_file);
	if (!CHECK_INT(unwind_table_new(&image, &debug, &t, &e), 0))
		return;
	put_rows(&got, t);
	CHECK_STR(got.data, "0: gap; 100: sp+16; 110: gap; 200: sp+32; 210: gap");
	unwind_table_free(t);
}

static void test_find(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };
	CLEANUP(buf_fini) struct buf file = { 0 };
	struct elf_image image;
	struct unwind_table *t;
	struct err e;

	put_usual_cie(&m);
	for (unsigned i = 0; i < 200; i++) {
		const char program[] = { 0x0e, (char)(i % 100 + 1) };

		put_fde(&m, CODE_VADDR + i * i / 16, 1 + i / 16, BYTES(program));
	}
	image = make_elf(&m, BYTES(""), 0, &file);
	if (!CHECK_INT(unwind_table_new(&image, NULL, &t, &e), 0))
		return;
	for (uint32_t i = 0; i < unwind_table_measure(t).rows; i++) {
		uint64_t from, to = CODE_VADDR + CODE_LEN;
		const struct unwind_rule *rule = unwind_table_row(t, i, &from);

		if (i + 1 < unwind_table_measure(t).rows)
			unwind_table_row(t, i + 1, &to);
		CHECK(unwind_table_find(t, from) == rule);
		CHECK(unwind_table_find(t, to - 1) == rule);
	}
	CHECK_INT(unwind_table_find(t, 0)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(t, CODE_VADDR + CODE_LEN)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(t, UINT64_MAX)->cfa, UNWIND_CFA_NONE);
	unwind_table_free(t);
}

/* Any byte changed, cut anywhere: ends, reads nothing behind the end (exact copies on the
 * heap, for the sanitizer), keeps its rows in order. */
static void check_survives(const struct buf *file, size_t len)
{
	unsigned char *bytes = malloc(len ? len : 1);
	struct unwind_table *t;
	struct elf_image image;
	struct err e;

	memcpy(bytes, file->data, len);
	if (elf_image_init(&image, bytes, len, &e) == 0 &&
	    unwind_table_new(&image, NULL, &t, &e) == 0) {
		uint64_t last = 0, vaddr;

		for (uint32_t i = 0; i < unwind_table_measure(t).rows; i++, last = vaddr) {
			unwind_table_row(t, i, &vaddr);
			CHECK(i == 0 || vaddr > last);
		}
		unwind_table_free(t);
	}
	free(bytes);
}

static void test_broken(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_X86_64 };
	CLEANUP(buf_fini) struct buf file = { 0 };
	size_t cfi_at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 3 * sizeof(Elf64_Shdr);

	put_usual_cie(&m);
	put_fde(&m, CODE_VADDR, 0x40,
		BYTES("\x0e\x10\x46\x0e\x18\x4a\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"));
	put_fde(&m, CODE_VADDR + 0x100, 0x40,
		BYTES("\x41\x0e\x10\x83\x02\x0a\x41\x0e\x08\xc3\x0b"));
	make_elf(&m, BYTES(""), 0, &file);
	for (size_t at = 0; at < cfi_at + 30 + m.cfi.len; at++) {
		static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
		char was = file.data[at];

		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			file.data[at] = (char)values[i];
			check_survives(&file, file.len);
		}
		file.data[at] = was;
		check_survives(&file, at);
	}
}

static void test_refused(void)
{
	CLEANUP(maker_fini) struct cfi_maker m = { .machine = EM_RISCV };
	CLEANUP(buf_fini) struct buf file = { 0 };
	struct elf_image image = make_elf(&m, BYTES(""), 0, &file);
	struct unwind_table *t;
	struct err e;

	CHECK_INT(unwind_table_new(&image, NULL, &t, &e), -ENOTSUP);
	CHECK_STR(e.msg, "code of machine 243, 64 bit, cannot be unwound");
	image.machine = EM_X86_64;
	image.phnum = 0;
	CHECK_INT(unwind_table_new(&image, NULL, &t, &e), -ENOEXEC);
}

int main(void)
{
	TAP_CASE(test_instructions);
	TAP_CASE(test_special_frames);
	TAP_CASE(test_gaps);
	TAP_CASE(test_arm64);
	TAP_CASE(test_order);
	TAP_CASE(test_debug_file);
	TAP_CASE(test_find);
	TAP_CASE(test_broken);
	TAP_CASE(test_refused);
	return tap_done();
}
