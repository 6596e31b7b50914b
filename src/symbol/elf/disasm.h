/* SPDX-License-Identifier: MIT */
/*
 * disasm: disassembles machine code, one instruction at a time. Capstone decodes x86-64 and
 * aarch64; without it (a build option, or no libcapstone.so here) every call returns -ENOTSUP.
 */
#ifndef SYMBOL_ELF_DISASM_H
#define SYMBOL_ELF_DISASM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

struct insn {
	uint64_t address; /* the file's virtual address */
	uint32_t size;    /* bytes */
	uint32_t text;    /* offset in struct insns.text of "mnemonic operands", NUL-terminated */
	uint64_t target;  /* of a direct jump or call; 0: none */
};

/* All zero is empty. */
struct insns {
	struct insn *list; /* [count], by address; owned */
	size_t count;
	struct buf text;
};

/*
 * Appends the instructions of [0..len), of which the first byte is at address. Bytes that
 * are no instruction become one of ".byte 0x..". machine: ELF's e_machine; others than
 * EM_X86_64 and EM_AARCH64 are -ENOTSUP.
 */
int disassemble(struct insns *to, uint16_t machine, const unsigned char *bytes, size_t len,
		uint64_t address, struct err *e) MUST_CHECK;
void insns_fini(struct insns *s);
const char *insn_text(const struct insns *s, size_t i);

#endif
