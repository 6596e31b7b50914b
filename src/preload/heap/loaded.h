/* SPDX-License-Identifier: MIT */
/*
 * loaded: the modules that the dynamic linker has loaded: their symbols and relocations.
 *
 * As they lie in memory, by their dynamic sections. To be used where the program itself may call
 * the dynamic linker, never in malloc: it has locks of its own.
 * Source: gABI, chapter 5 (dynamic section); the GNU hash table of binutils.
 */
#ifndef PRELOAD_HEAP_LOADED_H
#define PRELOAD_HEAP_LOADED_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct module {
	const char *name;                /* borrowed */
	uint64_t start, end;             /* addresses [start..end) of its segments */
	uint64_t base;                   /* an address less this is the file's vaddr */
	uint64_t relro_start, relro_end; /* read-only once it is relocated; whole pages */
	const Elf64_Sym *symbols;
	uint64_t symbol_count;
	const char *strings;
	const Elf64_Rela *data, *calls; /* relocations: of data, of the PLT */
	uint64_t data_count, call_count;
	bool is_own; /* it is this library */
};

/* Calls see for each module, in the order in which symbols are looked up, until it returns false.
 */
void loaded_each(bool (*see)(const struct module *m, void *context), void *context);

/* Was this library loaded after an allocator, and is before none? */
bool loaded_is_late(void);

/* How often a module was loaded so far. */
uint64_t loaded_count(void);

/* A function that a module other than this library defines: the first one. 0: none does.
 * *ret_others: there are other definitions of it. */
uint64_t loaded_find(const char *name, bool *ret_others);

#endif
