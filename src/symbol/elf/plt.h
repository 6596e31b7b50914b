/* SPDX-License-Identifier: MIT */
/*
 * plt: names the stubs of the procedure linkage table: "malloc@plt".
 *
 * The stub of a wanted address is decoded (x86-64, i386, aarch64) to find its slot in the global
 * offset table; the relocation of that slot has the name. So .plt, .plt.sec (IBT), .plt.got and
 * .iplt need no rules about their order. A slot that a function of the file fills at the start
 * (IRELATIVE) gets the name of that function, which is also the name of its choices.
 */
#ifndef SYMBOL_ELF_PLT_H
#define SYMBOL_ELF_PLT_H

#include "base/buf.h"
#include "base/elf_image.h"
#include "base/strtab.h"
#include "symbol/lookup/symbols.h"

/* Where symbols of the file are. */
struct plt_tables {
	const struct elf_image *images[3]; /* borrowed; NULL: none */
};

/* Offers the stubs that wanted addresses lie in. names owns the text. 0 or -ENOMEM. */
int plt_offer(const struct elf_image *image, const struct plt_tables *tables, struct strtab *names,
	      struct symbols *symbols) MUST_CHECK;

#endif
