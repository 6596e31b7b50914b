/* SPDX-License-Identifier: MIT */
/*
 * plt: names for the stubs of the procedure linkage table: "malloc@plt".
 *
 * The stub of a wanted address is decoded (x86-64, i386, aarch64) to find the slot of the
 * global offset table that it jumps through, and the relocation of that slot has the name.
 * So .plt, .plt.sec (IBT), .plt.got and .iplt need no rules about their order. A slot that is
 * filled at the start by a function of the file (IRELATIVE) has the name of that one, which is
 * the name of what it chooses.
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
