/* SPDX-License-Identifier: MIT */
/*
 * pclntab: the function table (pclntab) of a Go program. Stripped programs have it too, because
 * Go's panics need it.
 *
 * It reads Go 1.2 and later. Source: go.dev/s/go12symtab; Go's src/runtime/symtab.go, pcHeader,
 * and src/debug/gosym/pclntab.go.
 */
#ifndef SYMBOL_ELF_PCLNTAB_H
#define SYMBOL_ELF_PCLNTAB_H

#include <stdbool.h>

#include "base/elf_image.h"
#include "symbol/lookup/symbols.h"

/* Offers all functions. Names point into the image. false: no such table, or a broken header. */
bool pclntab_offer(const struct elf_image *image, struct symbols *symbols);

#endif
