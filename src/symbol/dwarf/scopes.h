/* SPDX-License-Identifier: MIT */
/*
 * dwarf_scopes: finds the functions of each wanted address, inlined ones included.
 *
 * Each unit with a wanted address is walked once. Entries of functions and inlined calls are kept
 * if a wanted address is in them; all others are skipped. The innermost scope of an address is the
 * last one in the tree; its parents are the callers.
 *
 * Source: DWARF 5, 3.3 (functions, inlined calls); DWARF 4, 3.3.
 */
#ifndef SYMBOL_DWARF_SCOPES_H
#define SYMBOL_DWARF_SCOPES_H

#include "base/strtab.h"
#include "symbol/dwarf/dwarf.h"

/* One line of the answer for an address. Ids are of the caller's strings, STRTAB_NONE: unknown. */
struct dwarf_frame {
	uint32_t name;       /* as the linker knows it, else as in the source */
	uint32_t file;       /* path */
	uint32_t line;       /* 0: unknown */
	uint32_t start_line; /* where the function is declared, in file; 0: unknown */
};

/* frames[first..first+count): innermost inlined first, the function itself last. */
struct dwarf_span {
	uint32_t first, count;
};

/*
 * wanted: [count], ascending, no two equal. Appends struct dwarf_frame to frames; spans:
 * [count], count 0 where the file does not know. Where only the line is known, the one frame
 * has no name. 0 or -ENOMEM.
 */
int dwarf_find_scopes(struct dwarf *d, const uint64_t *wanted, size_t count, struct strtab *strings,
		      struct buf *frames, struct dwarf_span *spans) MUST_CHECK;

#endif
