/* SPDX-License-Identifier: MIT */
/* dwarf_unit: the header and the first entry of a unit. Source: DWARF 5, 7.5.1, 3.1. */
#ifndef SYMBOL_DWARF_UNIT_H
#define SYMBOL_DWARF_UNIT_H

#include "symbol/dwarf/sections.h"

/* Where in the sections of a package the parts of one unit begin. */
struct dwarf_parts {
	uint64_t info, abbrev, str_offsets, rnglists;
};

/*
 * Reads the unit at *offset of .debug_info, and moves *offset behind it. parts: NULL outside of
 * packages. 1: *ret is it; 0: it is of a kind that holds no code, or that we cannot read;
 * -1: there is no more.
 */
int dwarf_read_unit(struct dwarf *d, uint64_t *offset, const struct dwarf_parts *parts,
		    struct dwarf_unit *ret);

#endif
