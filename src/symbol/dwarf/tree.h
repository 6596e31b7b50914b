/* SPDX-License-Identifier: MIT */
/*
 * dwarf_tree: finds the entries that enclose an entry of a unit.
 *
 * The children of an entry are listed when a search first enters it, so each part of a unit is read
 * at most once per depth.
 */
#ifndef SYMBOL_DWARF_TREE_H
#define SYMBOL_DWARF_TREE_H

#include "symbol/dwarf/sections.h"

/* Offsets in .debug_info of the entries that enclose the one at offset, outermost first and without
 * the unit's own; at most max. Broken data: those found so far. Out of memory is remembered by the
 * unit's file. */
size_t dwarf_enclosing(struct dwarf_unit *u, uint64_t offset, uint64_t *ret, size_t max);

void dwarf_tree_free(struct dwarf_tree *t); /* NULL is allowed */

#endif
