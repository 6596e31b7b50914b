/* SPDX-License-Identifier: MIT */
/*
 * dwarf: the debugging information of one file: its sections, and the list of its units.
 *
 * auger has its own reader, for versions 2 to 5. A scope query per address walks the whole unit
 * each time; libdw 0.188 reads no zstd-compressed sections, and it walks nested entries without
 * sibling links again at each level. Here a unit is walked once, without recursion, for all its
 * addresses (dwarf_scopes).
 *
 * The input is untrusted. Broken data ends its unit only.
 *
 * Source: DWARF 5 (dwarfstd.org), DWARF 4, the dwz manual.
 */
#ifndef SYMBOL_DWARF_DWARF_H
#define SYMBOL_DWARF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_image.h"
#include "base/macros.h"
#include "symbol/dwarf/sections.h"
#include "symbol/lookup/rangemap.h"

/* image and path must live as long. Sections are unpacked when first needed. 0 or -ENOMEM; no
 * .debug_info: no units. */
int dwarf_open(struct dwarf *d, const struct elf_image *image, const char *path,
	       uint64_t min_address) MUST_CHECK;
void dwarf_close(struct dwarf *d); /* all zero is allowed */

/* Adds the code of each unit to c, with the unit's index as value. */
void dwarf_add_units(struct dwarf *d, struct rangemap *c);

/*
 * The larger part of a unit that has a file of its own (gcc -gsplit-dwarf): "x.dwo", where the
 * compiler left it, or in a package of all of them beside the binary, "binary.dwp".
 *
 * Source: DWARF 5, 7.3.2 and 7.3.5; the GCC wiki, "DebugFission" and "DebugFissionDWP", for
 * version 4.
 */
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

#endif
