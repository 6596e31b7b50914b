/* SPDX-License-Identifier: MIT */
/*
 * symtab: the functions that an ELF file's symbol tables name.
 *
 * Source: System V ABI, chapter 4, "Symbol Table".
 */
#ifndef SYMBOL_ELF_SYMTAB_H
#define SYMBOL_ELF_SYMTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_image.h"
#include "symbol/lookup/symbols.h"

/* Offers what is code in the tables of this type (SHT_SYMTAB or SHT_DYNSYM). Names point into
 * the image. false: there is no such table. */
bool symtab_offer(const struct elf_image *image, uint32_t type, struct symbols *symbols);

/* The name of symbol number index of table section; NULL: none. For relocations. */
const char *symtab_name(const struct elf_image *image, uint32_t section, uint32_t index);

/* Characters of a symbol's name without its version: 4 of "read@@GLIBC_2.2.5". */
size_t symbol_name_length(const char *name);

#endif
