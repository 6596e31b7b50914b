/* SPDX-License-Identifier: MIT */
/*
 * dwarf_split: units whose larger part is in a file of its own (gcc -gsplit-dwarf): "x.dwo",
 * where the compiler left it, or in a package of all of them beside the binary, "binary.dwp".
 *
 * Source: DWARF 5, 7.3.2 and 7.3.5; the GCC wiki, "DebugFission" and "DebugFissionDWP", for
 * version 4.
 */
#ifndef SYMBOL_DWARF_SPLIT_H
#define SYMBOL_DWARF_SPLIT_H

#include "symbol/dwarf/dwarf.h"

struct dwarf_split {
	struct elf_image image; /* all zero: the part is in a package */
	struct dwarf dwarf;     /* of image */
	struct dwarf_unit unit; /* the part; its skeleton is what it was opened for */
};

/* Has the unit another part? */
bool dwarf_is_split(const struct dwarf_unit *skeleton);

/* false: the file is not there, or is not the one that belongs to it. Out of memory is
 * remembered by the skeleton's file. *ret must stay where it is until it is closed. */
bool dwarf_split_open(struct dwarf_unit *skeleton, struct dwarf_split *ret);
void dwarf_split_close(struct dwarf_split *s);

void dwarf_package_free(struct dwarf_package *p); /* NULL is allowed */

#endif
