/* SPDX-License-Identifier: MIT */
/*
 * python_file: finds CPython in an ELF file: python3.N, libpython3.N.so, or a program that has it
 * linked in. The name of the file means nothing: the symbol _PyRuntime does, which all of them
 * export.
 */
#ifndef INTERP_PYTHON_FILE_H
#define INTERP_PYTHON_FILE_H

#include "base/elf_image.h"
#include "base/macros.h"
#include "bpf/python.h"
#include "interp/interp.h"

#define PYTHON_FILE_RANGES 128
#define PYTHON_FILE_BYTES ((uint64_t)64 << 20) /* read of a file */

/* Addresses are the file's own. */
struct python_file_info {
	uint32_t minor;              /* of the version; 0: the file has no CPython that is known */
	struct python_layout layout; /* minor 0: not known, or not to be read */
	bool is_free_threaded;
	bool needs_python;           /* it is linked against a libpython */
	uint64_t runtime, code_type; /* _PyRuntime; PyCode_Type, 0: unknown */
	uint64_t runtime_bytes;      /* size of _PyRuntime; 0: unknown */
	uint64_t start_code;         /* lowest address of code */
	uint64_t text_delta;         /* of the code: address less offset */
	bool is_program;             /* it has an interpreter to be loaded by, or is static */
	uint64_t inode;
	uint32_t device;
	uint32_t range_count;
	struct interp_range ranges[PYTHON_FILE_RANGES];
};

/* inode and device are the caller's to set. */
void python_file_find(const struct elf_image *image, struct python_file_info *ret);

/* The same of the file at path. false: there is no regular file that can be read; of one that is no
 * ELF file nothing is set. */
bool python_file_read(const char *path, struct python_file_info *ret);

#endif
