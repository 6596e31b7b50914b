/* SPDX-License-Identifier: MIT */
/* dwarf_form: how the values of attributes are written. Source: DWARF 5, 7.5.6. */
#ifndef SYMBOL_DWARF_FORM_H
#define SYMBOL_DWARF_FORM_H

#include "symbol/dwarf/sections.h"

/* Bytes of a value of this form, when all have the same number; -1: they differ. */
int form_size(const struct dwarf_unit *u, unsigned form);

/* Reads, or steps over, one value. implicit: of FORM_IMPLICIT_CONST. An unknown form makes c
 * bad, because nothing behind it can be read. */
struct dwarf_value form_read(const struct dwarf_unit *u, struct cursor *c, unsigned form,
			     int64_t implicit);

/* 4 or 8 bytes, by the unit. */
uint64_t form_read_offset(const struct dwarf_unit *u, struct cursor *c);
uint64_t form_read_address(const struct dwarf_unit *u, struct cursor *c);

/* What a value stands for. NULL, false: it is of another kind, or leads outside. Text ends
 * with NUL and belongs to the file. */
const char *value_text(const struct dwarf_unit *u, struct dwarf_value v);
bool value_address(const struct dwarf_unit *u, struct dwarf_value v, uint64_t *ret);

/* The offset in its section of an attribute that is one; before version 4 a constant. */
bool value_offset(struct dwarf_value v, uint64_t *ret);

#endif
