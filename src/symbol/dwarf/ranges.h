/* SPDX-License-Identifier: MIT */
/* dwarf_ranges: the address ranges of an entry. Source: DWARF 5, 2.17; DWARF 4, 2.17.3. */
#ifndef SYMBOL_DWARF_RANGES_H
#define SYMBOL_DWARF_RANGES_H

#include "symbol/dwarf/sections.h"
#include "symbol/lookup/rangemap.h"

/* The attributes with the code ranges. */
struct dwarf_code {
	struct dwarf_value low_pc, high_pc, ranges;
};

/* Adds all of the code to c. true: it holds a wanted address. */
bool dwarf_add_code(const struct dwarf_unit *u, const struct dwarf_code *code, struct rangemap *c,
		    uint32_t value);

#endif
