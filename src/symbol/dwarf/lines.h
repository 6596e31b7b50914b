/* SPDX-License-Identifier: MIT */
/*
 * dwarf_lines: source files and lines of a unit's code.
 *
 * The line program of a unit is run once for all wanted addresses; its rows are not kept.
 *
 * Source: DWARF 5, 6.2; DWARF 4, 6.2 for the older header.
 */
#ifndef SYMBOL_DWARF_LINES_H
#define SYMBOL_DWARF_LINES_H

#include "base/strtab.h"
#include "symbol/dwarf/sections.h"

struct dwarf_position {
	uint64_t file; /* as dwarf_file_path() takes it */
	uint64_t line; /* 0: unknown */
};

/* ret: [count], where each of the wanted addresses (ascending) comes from; file and line 0
 * where the unit does not know. Out of memory is remembered by u->dwarf. */
void dwarf_find_lines(struct dwarf_unit *u, const uint64_t *wanted, size_t count,
		      struct dwarf_position *ret);

/* The path of a file by its number in this unit, absolute where the compiler recorded where it
 * ran, "/./" and "/x/../" taken out: an id of strings, or STRTAB_NONE when there is no such
 * file (or no memory, remembered). The same strings must be given in all calls. */
uint32_t dwarf_file_path(struct dwarf_unit *u, uint64_t file, struct strtab *strings);

void dwarf_files_free(struct dwarf_files *f);

#endif
