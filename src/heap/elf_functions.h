/* SPDX-License-Identifier: MIT */
/* elf_functions: the symbols of a file, dynamic ones first, then those that it was not stripped of.
 */
#ifndef HEAP_ELF_FUNCTIONS_H
#define HEAP_ELF_FUNCTIONS_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/elf_image.h"
#include "base/str.h"

/* 64-bit files only. name: borrowed from the image. Ends when visit returns false. */
void elf_symbols_each(const struct elf_image *image,
		      bool (*visit)(const Elf64_Sym *symbol, struct str name, void *context),
		      void *context);

/* The vaddr of a function that it defines; 0: it does not. */
uint64_t elf_function_find(const struct elf_image *image, const char *name);

#endif
