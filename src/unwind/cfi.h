/* SPDX-License-Identifier: MIT */
/*
 * cfi: reads call frame information: the functions it describes and their unwinding rules.
 *
 * The input is untrusted: each call stays within the record it reads. Invalid records are skipped.
 *
 * Source: DWARF 5, 6.4 and 7.24; LSB 5.0, 10.6; AADWARF64 4.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/elf_image.h"
#include "unwind/rule.h"

#define CFI_CIES 64  /* common parts that are remembered */
#define CFI_SAVED 16 /* depth of DW_CFA_remember_state */

/* What the descriptions of many functions have in common (a CIE). */
struct cfi_cie {
	uint64_t at; /* offset in the section, UINT64_MAX: an empty place */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses in its FDEs, DW_EH_PE_* */
	bool has_augmentation_data;
	bool is_signal;
	bool is_ok;                 /* can be used */
	struct unwind_rule initial; /* before the first instruction of a function */
};

/* .eh_frame or .debug_frame. */
struct cfi_section {
	const unsigned char *bytes; /* [0..len), borrowed */
	uint64_t len;               /* 0: there is none */
	uint64_t vaddr;             /* of bytes[0] */
	bool is_eh;                 /* .eh_frame */
	bool is_open_ended;         /* len is not known: an empty record ends it */
	const struct unwind_arch *arch;
	struct cfi_cie cies[CFI_CIES]; /* direct-mapped by offset */
	uint64_t work;                 /* bytes of CIEs that may still be read: a bound on time */
	void *unpacked; /* [unpacked_len) pages, when the file's are compressed; owned */
	uint64_t unpacked_len;
};

/* One function's description (an FDE). */
struct cfi_fde {
	uint64_t at;               /* offset in the section */
	uint64_t start, end;       /* vaddr [start..end), start < end */
	const struct cfi_cie *cie; /* valid until the next query of the section */
	struct cursor program;
};

/* The file's own .eh_frame, also without section headers; or its .debug_frame, which may be
 * compressed by zlib. false: it has none that can be read. */
bool cfi_section_open_eh(struct cfi_section *ret, const struct elf_image *image);
bool cfi_section_open_debug(struct cfi_section *ret, const struct elf_image *image);
void cfi_section_init(struct cfi_section *ret, const void *bytes, uint64_t len, uint64_t vaddr,
		      bool is_eh, const struct unwind_arch *arch);
void cfi_section_close(struct cfi_section *s);

/* The next usable FDE at or behind *at, which moves behind it. false: no more. */
bool cfi_next_fde(struct cfi_section *s, uint64_t *at, struct cfi_fde *ret);

/* An address as the FDEs of this CIE write them. */
uint64_t cfi_take_address(const struct cfi_section *s, const struct cfi_cie *cie, struct cursor *c);

/* Runs the program of an FDE, a row at a time. */
struct cfi_run {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cursor code;
	uint64_t pc;             /* vaddr of the row being made */
	uint64_t end;            /* of the function */
	struct unwind_rule rule; /* as it stands */
	struct unwind_rule saved[CFI_SAVED];
	uint32_t saved_count;
	bool is_done, is_broken;
};

void cfi_run_init(struct cfi_run *r, const struct cfi_section *s, const struct cfi_fde *fde);

/* The next row: from *ret_pc on holds the rule. Addresses grow. false: no more. */
bool cfi_run_row(struct cfi_run *r, uint64_t *ret_pc, struct unwind_rule *ret_rule);

/* Runs the program of an FDE up to an address in it: the rule that holds there. */
struct unwind_rule cfi_run_at(struct cfi_run *r, uint64_t pc);

#endif
