/* SPDX-License-Identifier: MIT */
/*
 * rule: the unwinding rule of one frame: where the caller's registers are.
 *
 * Source: DWARF 5, section 6.4; x86-64 psABI 3.7; i386 psABI 2.4; AArch64 DWARF ABI (AADWARF64) 4.
 */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* DWARF's numbers of the registers that matter. */
enum {
	UNWIND_X86_BX = 3,
	UNWIND_X86_BP = 6,
	UNWIND_X86_SP = 7,
	UNWIND_X86_RA = 16,
	UNWIND_I386_BX = 3,
	UNWIND_I386_SP = 4,
	UNWIND_I386_BP = 5,
	UNWIND_I386_RA = 8,
	UNWIND_ARM64_FP = 29,
	UNWIND_ARM64_LR = 30,
	UNWIND_ARM64_SP = 31,
	UNWIND_REG_COUNT = 32,
};

/* The registers that a rule restores. */
enum {
	UNWIND_RA,  /* the return address */
	UNWIND_FP,  /* the arch's fp */
	UNWIND_AUX, /* the arch's aux */
	UNWIND_SAVES,
};

/* What differs between machines. */
struct unwind_arch {
	uint16_t machine;           /* EM_X86_64, EM_386, EM_AARCH64 */
	uint8_t word;               /* bytes of an address on the stack */
	uint8_t sp;                 /* DWARF number */
	uint8_t save[UNWIND_SAVES]; /* DWARF numbers (columns) of UNWIND_RA, _FP, _AUX */
	bool is_ra_pushed;          /* by the call; else it is in a register at first */
	uint32_t callee_saved;      /* bit n: a function leaves register n as it found it */
	uint64_t address_mask;      /* bits of a return address; the rest is its signature */
};

/* NULL: an unknown machine. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);

/* Where the caller's stack pointer (the canonical frame address, CFA) comes from. */
enum unwind_cfa {
	UNWIND_CFA_NONE,    /* no description: a gap */
	UNWIND_CFA_UNKNOWN, /* a description that cannot be followed */
	UNWIND_CFA_END,     /* no caller: the outermost frame */
	UNWIND_CFA_SP,      /* sp + offset, and all saves are SAME or AT_CFA: the usual ones */
	UNWIND_CFA_FP,      /* fp + offset, likewise */
	UNWIND_CFA_REG,     /* reg + offset */
	UNWIND_CFA_DEREF,   /* the value at reg + offset, + add */
	UNWIND_CFA_INDEX,   /* the value at sp + 8 * reg + offset, + add */
	UNWIND_CFA_PLT,     /* reg + offset, + 8 in the last bytes of each 16: pc % 16 >= add */
	UNWIND_CFA_JUMP,    /* reg + offset has the saves; the caller's sp is in register add */
	UNWIND_CFA_SIGNAL,  /* sp + offset is a signal frame of the kernel: all registers */
};

/* Where the caller's value of a register is. */
enum unwind_save {
	UNWIND_SAVE_SAME,   /* still in the register */
	UNWIND_SAVE_AT_CFA, /* in memory at CFA + at */
	UNWIND_SAVE_AT_SP,  /* in memory at sp + at */
	UNWIND_SAVE_AT_FP,  /* in memory at fp + at */
	UNWIND_SAVE_IN_REG, /* in the register of number at */
	UNWIND_SAVE_IS_CFA, /* is CFA + at */
	UNWIND_SAVE_LOST,   /* nowhere */
};

struct unwind_rule {
	uint8_t cfa;                /* enum unwind_cfa */
	uint8_t reg;                /* DWARF number, for REG, DEREF, INDEX, PLT, JUMP */
	uint8_t save[UNWIND_SAVES]; /* enum unwind_save */
	uint8_t is_signal;          /* 1: the caller was interrupted, it did not call */
	int16_t add;                /* bytes, or a register's number */
	int32_t offset;             /* bytes */
	int32_t at[UNWIND_SAVES];   /* bytes, or a register's number */
};

#endif
