/* SPDX-License-Identifier: MIT */
#include "unwind/cfi.h"

#include <string.h>

/* Instructions. Source: DWARF 5, 7.24; GNU and AArch64 additions. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_PRIMARY = 0xc0, /* the two bits of those three; the rest is an operand */
	CFA_OPERAND = 0x3f,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_ADVANCE_LOC8 = 0x1d,
	CFA_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_NEGATE_RA_STATE = 0x2d, /* DW_CFA_GNU_window_save elsewhere */
	CFA_ARGS_SIZE = 0x2e,
	CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Expressions. Source: DWARF 5, 7.7.1. */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,  /* to 31 */
	OP_BREG0 = 0x70, /* to 31 */
};

/* In a rule's save before it is finished: undefined on purpose. */
#define SAVE_UNDEFINED 0xff

/* The slot of sp among the registers that the kernel saves for a signal handler, from the
 * first of them. x86-64: r8 .. r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp behind 40 bytes.
 * Source: asm/sigcontext.h, asm/ucontext.h. */
#define X86_CONTEXT_SP 160

/* reg + offset. */
static bool parse_breg(struct cursor *c, uint64_t *ret_reg, int64_t *ret_offset)
{
	uint8_t op = cursor_u8(c);

	*ret_reg = (uint64_t)op - OP_BREG0;
	*ret_offset = cursor_sleb(c);
	return !c->bad && *ret_reg < UNWIND_REG_COUNT;
}

/* What the linker writes for a .plt: sp + a word, and one more behind the push of each entry. */
static bool parse_plt(const struct unwind_arch *arch, struct cursor c, uint8_t *ret_from)
{
	const uint8_t end[] = { OP_GE, arch->word == 8 ? OP_LIT0 + 3 : OP_LIT0 + 2, OP_SHL,
				OP_PLUS };
	const unsigned char *bytes;

	if (cursor_u8(&c) != OP_BREG0 + arch->save[UNWIND_RA] || cursor_u8(&c) != 0 ||
	    cursor_u8(&c) != OP_LIT0 + 15 || cursor_u8(&c) != OP_AND)
		return false;
	*ret_from = (uint8_t)(cursor_u8(&c) - OP_LIT0);
	bytes = cursor_bytes(&c, sizeof end);
	return bytes && *ret_from < 16 && memcmp(bytes, end, sizeof end) == 0 && !cursor_left(&c);
}

/* openssl's bn_mul_mont, where sp was saved in an array: + 8 * register. */
static bool parse_index(struct cursor *c, uint64_t *ret_reg)
{
	static const uint8_t end[] = { OP_LIT0 + 8, OP_MUL, OP_PLUS };
	struct cursor at = *c;
	const unsigned char *bytes;
	int64_t offset;

	if (!parse_breg(&at, ret_reg, &offset) || offset != 0)
		return false;
	bytes = cursor_bytes(&at, sizeof end);
	if (!bytes || memcmp(bytes, end, sizeof end) != 0)
		return false;
	*c = at;
	return true;
}

static void set_cfa(struct cfi_run *r, enum unwind_cfa cfa, uint64_t reg, int64_t offset,
		    int64_t add)
{
	r->rule.cfa = (uint8_t)cfa;
	r->rule.reg = (uint8_t)reg;
	r->rule.offset = (int32_t)offset;
	r->rule.add = (int16_t)add;
	if (reg >= UNWIND_REG_COUNT || offset != r->rule.offset || add != r->rule.add)
		r->rule.cfa = UNWIND_CFA_UNKNOWN;
}

/* reg + offset; the value there; the value there, + add. */
static void set_cfa_expression(struct cfi_run *r, struct cursor c)
{
	enum unwind_cfa kind = UNWIND_CFA_DEREF;
	uint64_t reg, index, add = 0;
	int64_t offset;
	uint8_t from;

	r->rule.cfa = UNWIND_CFA_UNKNOWN;
	if (!parse_breg(&c, &reg, &offset))
		return;
	if (parse_plt(r->section->arch, c, &from)) {
		set_cfa(r, UNWIND_CFA_PLT, reg, offset, from);
		return;
	}
	if (!cursor_left(&c)) {
		set_cfa(r, UNWIND_CFA_REG, reg, offset, 0);
		return;
	}
	if (reg == r->section->arch->sp && parse_index(&c, &index)) {
		kind = UNWIND_CFA_INDEX;
		reg = index;
	}
	if (cursor_u8(&c) != OP_DEREF)
		return;
	if (cursor_left(&c)) {
		if (cursor_u8(&c) != OP_PLUS_UCONST)
			return;
		add = cursor_uleb(&c);
	}
	if (!c.bad && !cursor_left(&c) && add <= INT16_MAX)
		set_cfa(r, kind, reg, offset, (int64_t)add);
}

/* The index of a register in a rule's save, -1: not followed. */
static int save_index(const struct cfi_run *r, uint64_t reg)
{
	for (int i = 0; i < UNWIND_SAVES; i++)
		if (r->section->arch->save[i] == reg)
			return i;
	return -1;
}

static void set_save(struct cfi_run *r, uint64_t reg, uint8_t save, int64_t at)
{
	int i = save_index(r, reg);

	if (i < 0)
		return;
	r->rule.save[i] = at == (int32_t)at ? save : UNWIND_SAVE_LOST;
	r->rule.at[i] = at == (int32_t)at ? (int32_t)at : 0;
}

/* The caller's sp is in a register instead of being the CFA, as before a longjmp. Kept in what
 * a CFA of register and offset has no use for. */
static void set_sp_register(struct cfi_run *r, uint64_t reg)
{
	r->rule.add = reg < UNWIND_REG_COUNT ? (int16_t)(reg + 1) : 0;
}

static void set_save_expression(struct cfi_run *r, uint64_t reg, struct cursor c)
{
	const struct unwind_arch *arch = r->section->arch;
	uint64_t base;
	int64_t at;

	if (!parse_breg(&c, &base, &at) || cursor_left(&c))
		set_save(r, reg, UNWIND_SAVE_LOST, 0);
	else if (base == arch->sp)
		set_save(r, reg, UNWIND_SAVE_AT_SP, at);
	else if (base == arch->save[UNWIND_FP])
		set_save(r, reg, UNWIND_SAVE_AT_FP, at);
	else
		set_save(r, reg, UNWIND_SAVE_LOST, 0);
}

static void restore(struct cfi_run *r, uint64_t reg)
{
	int i = save_index(r, reg);

	if (i < 0)
		return;
	r->rule.save[i] = r->cie->initial.save[i];
	r->rule.at[i] = r->cie->initial.at[i];
}

static int64_t times(struct cfi_run *r, int64_t factor, int64_t n)
{
	int64_t product;

	if (__builtin_mul_overflow(factor, n, &product)) {
		r->is_broken = true;
		return 0;
	}
	return product;
}

/* An unsigned operand in units of the data alignment. */
static int64_t take_factored(struct cfi_run *r)
{
	return times(r, r->cie->data_align, (int64_t)cursor_uleb(&r->code));
}

static int64_t take_factored_sf(struct cfi_run *r)
{
	return times(r, r->cie->data_align, cursor_sleb(&r->code));
}

static void remember(struct cfi_run *r)
{
	if (r->saved_count == CFI_SAVED)
		r->is_broken = true;
	else
		r->saved[r->saved_count++] = r->rule;
}

static void recall(struct cfi_run *r)
{
	if (r->saved_count == 0)
		r->is_broken = true;
	else
		r->rule = r->saved[--r->saved_count];
}

/* Instructions on the CFA. false: none of them. */
static bool run_cfa(struct cfi_run *r, uint8_t op)
{
	struct cursor *c = &r->code;
	bool is_reg = r->rule.cfa == UNWIND_CFA_REG;
	uint64_t reg = r->rule.reg;
	int64_t offset = r->rule.offset;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb(c);
		offset = (int64_t)cursor_uleb(c);
		break;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(c);
		offset = take_factored_sf(r);
		break;
	case CFA_DEF_CFA_REGISTER:
		reg = cursor_uleb(c);
		r->is_broken |= !is_reg;
		break;
	case CFA_DEF_CFA_OFFSET:
		offset = (int64_t)cursor_uleb(c);
		r->is_broken |= !is_reg;
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		offset = take_factored_sf(r);
		r->is_broken |= !is_reg;
		break;
	case CFA_DEF_CFA_EXPRESSION:
		set_cfa_expression(r, cursor_sub(c, cursor_uleb(c)));
		return true;
	default:
		return false;
	}
	set_cfa(r, UNWIND_CFA_REG, reg, offset, 0);
	return true;
}

/* Instructions on one register. false: none of them. */
static bool run_save(struct cfi_run *r, uint8_t op)
{
	struct cursor *c = &r->code;
	uint64_t reg, in;

	if (op < CFA_OFFSET_EXTENDED || (op > CFA_REGISTER && op < CFA_EXPRESSION) ||
	    (op > CFA_VAL_EXPRESSION && op != CFA_NEGATIVE_OFFSET_EXTENDED))
		return false;
	reg = cursor_uleb(c);
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_save(r, reg, UNWIND_SAVE_AT_CFA, take_factored(r));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		set_save(r, reg, UNWIND_SAVE_AT_CFA, take_factored_sf(r));
		return true;
	case CFA_NEGATIVE_OFFSET_EXTENDED:
		set_save(r, reg, UNWIND_SAVE_AT_CFA, times(r, -1, take_factored(r)));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(r, reg);
		return true;
	case CFA_UNDEFINED:
		set_save(r, reg, SAVE_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		set_save(r, reg, UNWIND_SAVE_SAME, 0);
		return true;
	case CFA_REGISTER:
		in = cursor_uleb(c);
		if (reg == r->section->arch->sp && r->rule.cfa == UNWIND_CFA_REG)
			set_sp_register(r, in);
		set_save(r, reg, UNWIND_SAVE_IN_REG, (int64_t)(in & INT32_MAX));
		return true;
	case CFA_VAL_OFFSET:
		set_save(r, reg, UNWIND_SAVE_IS_CFA, take_factored(r));
		return true;
	case CFA_VAL_OFFSET_SF:
		set_save(r, reg, UNWIND_SAVE_IS_CFA, take_factored_sf(r));
		return true;
	case CFA_EXPRESSION:
		set_save_expression(r, reg, cursor_sub(c, cursor_uleb(c)));
		return true;
	case CFA_VAL_EXPRESSION:
		cursor_skip(c, cursor_uleb(c));
		set_save(r, reg, UNWIND_SAVE_LOST, 0);
		return true;
	default:
		return false;
	}
}

static void run_other(struct cfi_run *r, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_WITH_PC:
		return;
	case CFA_REMEMBER_STATE:
		remember(r);
		return;
	case CFA_RESTORE_STATE:
		recall(r);
		return;
	case CFA_ARGS_SIZE:
		cursor_uleb(&r->code);
		return;
	default:
		r->is_broken = true; /* its operands are not known either */
	}
}

/* How far the location moves; UINT64_MAX: op is none that moves it. */
static uint64_t take_advance(struct cfi_run *r, uint8_t op)
{
	uint64_t delta;

	switch (op) {
	case CFA_ADVANCE_LOC1:
		delta = cursor_u8(&r->code);
		break;
	case CFA_ADVANCE_LOC2:
		delta = cursor_u16(&r->code);
		break;
	case CFA_ADVANCE_LOC4:
		delta = cursor_u32(&r->code);
		break;
	case CFA_ADVANCE_LOC8:
		delta = cursor_u64(&r->code);
		break;
	case CFA_SET_LOC:
		delta = cfi_take_address(r->section, r->cie, &r->code) - r->pc;
		return delta < r->end - r->pc ? delta : r->end - r->pc;
	default:
		if ((op & CFA_PRIMARY) != CFA_ADVANCE_LOC)
			return UINT64_MAX;
		delta = op & CFA_OPERAND;
	}
	/* Too far is as good as the end of the function. */
	if (__builtin_mul_overflow(delta, r->cie->code_align, &delta) || delta > r->end - r->pc)
		delta = r->end - r->pc;
	return delta;
}

static void run_one(struct cfi_run *r, uint8_t op)
{
	switch (op & CFA_PRIMARY) {
	case CFA_OFFSET:
		set_save(r, op & CFA_OPERAND, UNWIND_SAVE_AT_CFA, take_factored(r));
		return;
	case CFA_RESTORE:
		restore(r, op & CFA_OPERAND);
		return;
	default:
		if (!run_cfa(r, op) && !run_save(r, op))
			run_other(r, op);
	}
}

/* Only the usual saves, which a walk does without looking at their kind. */
static bool is_plain(const struct cfi_run *r, const struct unwind_rule *rule)
{
	if (rule->is_signal || rule->save[UNWIND_RA] != UNWIND_SAVE_AT_CFA)
		return false;
	for (int i = UNWIND_FP; i < UNWIND_SAVES; i++)
		if (rule->save[i] != UNWIND_SAVE_SAME && rule->save[i] != UNWIND_SAVE_AT_CFA)
			return false;
	return rule->cfa == UNWIND_CFA_REG && (rule->reg == r->section->arch->sp ||
					       rule->reg == r->section->arch->save[UNWIND_FP]);
}

/* Is it the kernel's signal frame on x86-64, as the C library describes it? */
static bool is_context(const struct cfi_run *r, const struct unwind_rule *rule)
{
	return rule->is_signal && r->section->arch->machine == EM_X86_64 &&
	       rule->cfa == UNWIND_CFA_DEREF && rule->reg == UNWIND_X86_SP && rule->add == 0 &&
	       rule->save[UNWIND_RA] == UNWIND_SAVE_AT_SP &&
	       rule->at[UNWIND_RA] == rule->offset + 8;
}

/* From the state of the run to what a walk needs. Equal rules get equal bytes. */
static struct unwind_rule finished_rule(const struct cfi_run *r)
{
	static const struct unwind_rule unknown = { .cfa = UNWIND_CFA_UNKNOWN };
	struct unwind_rule rule = r->rule;
	uint8_t ra = rule.save[UNWIND_RA];

	if (ra == SAVE_UNDEFINED)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_END };
	if (r->is_broken || rule.cfa == UNWIND_CFA_NONE || rule.cfa == UNWIND_CFA_UNKNOWN ||
	    ra == UNWIND_SAVE_LOST || (ra == UNWIND_SAVE_SAME && r->section->arch->is_ra_pushed))
		return unknown;
	for (int i = 0; i < UNWIND_SAVES; i++) {
		if (rule.save[i] == SAVE_UNDEFINED)
			rule.save[i] = UNWIND_SAVE_LOST;
		if (rule.save[i] == UNWIND_SAVE_IN_REG && rule.at[i] >= UNWIND_REG_COUNT)
			return unknown;
	}
	if (rule.cfa == UNWIND_CFA_REG && rule.add) {
		rule.cfa = UNWIND_CFA_JUMP;
		rule.add--;
	}
	if (is_context(r, &rule))
		return (struct unwind_rule){ .cfa = UNWIND_CFA_SIGNAL,
					     .is_signal = 1,
					     .offset = rule.offset - X86_CONTEXT_SP };
	if (is_plain(r, &rule)) {
		rule.cfa = rule.reg == r->section->arch->sp ? UNWIND_CFA_SP : UNWIND_CFA_FP;
		rule.reg = 0;
	}
	return rule;
}

void cfi_run_init(struct cfi_run *r, const struct cfi_section *s, const struct cfi_fde *fde)
{
	r->section = s;
	r->cie = fde->cie;
	r->code = fde->program;
	r->pc = fde->start;
	r->end = fde->end;
	r->rule = fde->cie->initial;
	r->saved_count = 0;
	r->is_done = false;
	r->is_broken = false;
}

/* To the end of a row: false, and the program ends with it. */
static bool run_row(struct cfi_run *r)
{
	while (cursor_left(&r->code) && !r->is_broken) {
		uint8_t op = cursor_u8(&r->code);
		uint64_t delta = take_advance(r, op);

		if (delta == UINT64_MAX)
			run_one(r, op);
		r->is_broken |= r->code.bad;
		if (delta == UINT64_MAX || delta == 0 || r->is_broken)
			continue;
		r->pc += delta;
		return r->pc < r->end;
	}
	return false;
}

bool cfi_run_row(struct cfi_run *r, uint64_t *ret_pc, struct unwind_rule *ret_rule)
{
	if (r->is_done)
		return false;
	*ret_pc = r->pc;
	r->is_done = !run_row(r);
	*ret_rule = finished_rule(r);
	return true;
}

struct unwind_rule cfi_run_at(struct cfi_run *r, uint64_t pc)
{
	while (run_row(r) && r->pc <= pc)
		;
	return finished_rule(r);
}
