/* SPDX-License-Identifier: MIT */
/*
 * symbol_file: symbolizes the code of one ELF file: names, source lines, inlined calls, function
 * bounds, and the code itself.
 *
 * Names come from .symtab (of the file, else of its separate debug file), else MiniDebugInfo,
 * .dynsym, Go's own table and the PLT; lines and inlined calls come from DWARF. A function without
 * a name is named after its start, "[file+0x1234]".
 *
 * Addresses are the file's own virtual addresses. Ask for all addresses at once: each call reads
 * the tables once, and only names are kept between calls.
 */
#ifndef SYMBOL_SYMBOL_FILE_H
#define SYMBOL_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

struct symbol_file;

struct symbol_file_opts {
	const char *path;      /* what to open; NULL: the vdso of this process */
	const char *name;      /* the file as its own process named it; NULL: path */
	const char *build_id;  /* that it must have, lower-case hex; NULL and "": any */
	const char *debug_dir; /* of separate debug files; NULL: /usr/lib/debug */
	bool no_dwarf;         /* names only */
};

/*
 * Fails as open(2); -ENOEXEC when it is no ELF file; -ESTALE when its build id is another one.
 * In these cases a separate debug file found by build id will do, if there is one. -ENOMEM.
 */
int symbol_file_open(const struct symbol_file_opts *o, struct symbol_file **ret,
		     struct err *e) MUST_CHECK;
void symbol_file_close(struct symbol_file *f); /* NULL is allowed */

/* From an offset in the file to a virtual address; false: no segment holds it. */
bool symbol_file_vaddr(const struct symbol_file *f, uint64_t offset, uint64_t *ret);

uint16_t symbol_file_machine(const struct symbol_file *f); /* EM_X86_64, ... */

/* false: only its debug file is there, found by build id. */
bool symbol_file_has_code(const struct symbol_file *f);

/* Negative errno: a part of it, or of its debug files, could not be read, and names are missing. */
int symbol_file_error(const struct symbol_file *f);

/* A function, the same id for all its frames. */
struct symbol_function {
	const char *name;        /* for people */
	const char *system_name; /* as in the symbol table */
	const char *file;        /* source, absolute; "": unknown */
	uint32_t start_line;     /* 0: unknown */
};

struct symbol_frame {
	uint32_t function; /* id */
	uint32_t line;     /* in the function's file; 0: unknown */
};

/* What is known of the addresses of one lookup. */
struct symbol_answer {
	struct symbol_frame *frames; /* of all addresses */
	uint32_t *first;             /* [count + 1]: frames of address i are
				      * [first[i]..first[i+1]), innermost inlined first, the
				      * function itself last; none: nothing is known */
	bool has_lines, has_inlines; /* some frame has a line; some address has two frames */
};

/* addresses: [count], ascending, no two equal. 0 or -ENOMEM. */
int symbol_file_lookup(struct symbol_file *f, const uint64_t *addresses, size_t count,
		       struct symbol_answer *ret, struct err *e) MUST_CHECK;
void symbol_answer_fini(struct symbol_answer *a);

size_t symbol_file_function_count(const struct symbol_file *f);
/* id < count. Text lives as long as the file is open. */
struct symbol_function symbol_file_function(const struct symbol_file *f, uint32_t id);

/* The code of a function. */
struct symbol_extent {
	uint64_t start, end;     /* [start..end) */
	const char *system_name; /* NULL: none; lives as long as the file is open */
};

/* The function that holds an address; false: not known, or out of memory. */
bool symbol_file_extent(struct symbol_file *f, uint64_t address, struct symbol_extent *ret);

/* len bytes of code at an address, as in the file; NULL: not all of it is there. */
const unsigned char *symbol_file_code(const struct symbol_file *f, uint64_t address, size_t len);

#endif
