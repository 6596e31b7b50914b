/* SPDX-License-Identifier: MIT */
/* dwarf_entry: reads one entry of a function. Source: DWARF 5, 3.3. */
#ifndef SYMBOL_DWARF_ENTRY_H
#define SYMBOL_DWARF_ENTRY_H

#include "base/map.h"
#include "base/strtab.h"
#include "symbol/dwarf/sections.h"

/* Entries lead to others by DW_AT_abstract_origin and DW_AT_specification; what an entry
 * itself does not say is taken from there. */
struct dwarf_function {
	uint32_t name; /* linkage name, else name within its scopes, "shop::count": id of strings;
			* STRTAB_NONE: has none */
	uint32_t file; /* path of the declaration: id of strings; STRTAB_NONE: unknown */
	uint32_t line; /* of the declaration; 0: unknown */
};

/* What is known of functions, so that each is read once. */
struct dwarf_functions {
	struct strtab *strings; /* borrowed */
	struct map main, alt;   /* offset of the entry, in which file, to index in list */
	struct buf list;        /* struct dwarf_function */
};

void dwarf_functions_fini(struct dwarf_functions *f);

/* Reads the entry at this offset of u's .debug_info, and of an inlined call where it was
 * called from. Broken: unknown. Out of memory is remembered by the unit's file. */
struct dwarf_call {
	struct dwarf_function function;
	uint64_t file; /* of the caller, by its number in u */
	uint32_t line; /* 0: unknown */
};
struct dwarf_call dwarf_read_call(struct dwarf_functions *f, struct dwarf_unit *u, uint64_t offset);

#endif
