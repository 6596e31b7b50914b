/* SPDX-License-Identifier: MIT */
/*
 * gotab: the functions that a Go program's own table names. It is there in stripped ones, too, as
 * the language needs it for its panics.
 *
 * Of Go 1.2 and later. Source: go.dev/s/go12symtab; Go's src/runtime/symtab.go, pcHeader, and
 * src/debug/gosym/pclntab.go.
 */
#ifndef SYMBOL_ELF_PCLNTAB_H
#define SYMBOL_ELF_PCLNTAB_H

#include <stdbool.h>

#include "base/elf_image.h"
#include "symbol/lookup/symbols.h"

/* Offers all functions. Names point into the image. false: there is no such table, or it is broken
 * from the start. */
bool pclntab_offer(const struct elf_image *image, struct symbols *symbols);

#endif
