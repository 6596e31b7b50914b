/* SPDX-License-Identifier: MIT */
/*
 * elf_image: what unwinding and address spaces need of an ELF file: segments, sections, build id.
 *
 * A view of bytes that somebody holds, or of a file. Nothing is trusted: every offset is checked
 * against the bytes before it is followed, and data outside is treated as absent. A file is never
 * mapped, because its owner may shrink or change it at any moment: blocks are read when they
 * are first asked for and stay as they were read; 1 GiB of a file at most. 32 and 64 bit,
 * little-endian. It also reads the vdso in memory, which is laid out as a file would be. An image
 * of a file is for one thread at a time.
 *
 * Source: elf(5); System V ABI, chapters 4 and 5; gABI on SHF_COMPRESSED.
 */
#ifndef BASE_ELF_IMAGE_H
#define BASE_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

#define ELF_BUILD_ID_MAX 64                         /* bytes */
#define ELF_BUILD_ID_HEX (2 * ELF_BUILD_ID_MAX + 1) /* characters with the NUL */

struct elf_image {
	const unsigned char *bytes; /* [0..len); of a file only what elf_bytes() gave is there */
	size_t len;
	struct elf_reader
		*reader;       /* of a file, closed by elf_image_close; NULL: bytes is complete */
	bool is_64;            /* ELFCLASS64 */
	uint16_t machine;      /* EM_X86_64, EM_AARCH64, ... */
	uint16_t type;         /* ET_EXEC, ET_DYN, ... */
	uint64_t entry;        /* vaddr of the first instruction, 0: none */
	uint64_t phoff, shoff; /* in bytes; the tables lie inside of it */
	uint32_t phnum, shnum; /* 0: no such table */
	uint32_t shstrndx;     /* of the section names; may be shnum and more: no names */
};

/* A program header. file_size bytes at offset are inside of the image's bytes or not:
 * elf_bytes() reports it. */
struct elf_segment {
	uint32_t type; /* PT_LOAD, PT_NOTE, PT_GNU_EH_FRAME, ... */
	bool is_executable;
	uint64_t vaddr, offset, file_size, mem_size;
};

struct elf_section {
	uint32_t type;  /* SHT_PROGBITS, SHT_NOBITS, ... */
	uint64_t flags; /* SHF_ALLOC, SHF_COMPRESSED, ... */
	uint64_t vaddr, offset, size;
	uint32_t link, info; /* indices of other sections, by type */
	uint64_t entry_size; /* of a table's rows; 0: no table */
};

/* Views [0..len), which must live as long as the image is used. Fails with -ENOEXEC and the
 * reason when it is no little-endian ELF file with sane header tables. */
int elf_image_init(struct elf_image *ret, const void *bytes, size_t len, struct err *e) MUST_CHECK;

/* Reads a regular file (else -EINVAL) of at most 1 TiB. Fails with the errno of open or read, or as
 * init. name: for the message. The descriptor stays the caller's. */
int elf_image_open(struct elf_image *ret, const char *path, struct err *e) MUST_CHECK;
int elf_image_open_fd(struct elf_image *ret, int fd, const char *name, struct err *e) MUST_CHECK;
void elf_image_close(struct elf_image *image); /* all zero is allowed */

/* The negative errno of the first read of the file that failed: what lay there counts as absent.
 * 0: none did. */
int elf_image_error(const struct elf_image *image);

/* No more than so many bytes of the file are read from now on. */
void elf_image_limit(const struct elf_image *image, uint64_t bytes);

/* [0..size) at offset in the file, NULL when not all of it is there or can be read. */
const unsigned char *elf_bytes(const struct elf_image *image, uint64_t offset, uint64_t size);

/* index < phnum, index < shnum. */
struct elf_segment elf_get_segment(const struct elf_image *image, uint32_t index);
struct elf_section elf_get_section(const struct elf_image *image, uint32_t index);

/* The first of its kind; false: not there, or not all of its bytes are. */
bool elf_find_segment(const struct elf_image *image, uint32_t type, struct elf_segment *ret);

/* By name, e.g. ".text"; the first. false: not there. Its bytes may still be missing
 * (SHT_NOBITS in a separate debug file). */
bool elf_find_section(const struct elf_image *image, const char *name, struct elf_section *ret);

/* What a section holds, NULL when it holds nothing or not all of it is there. As it is in
 * the file: compressed when flags say so. */
const unsigned char *elf_section_bytes(const struct elf_image *image, const struct elf_section *s);

/* The executable PT_LOAD, the largest one when there are several; false: none. */
bool elf_text_segment(const struct elf_image *image, struct elf_segment *ret);

/* Between offsets in the file and the addresses it was linked for, by the PT_LOADs. Where two
 * segments share a page, the executable one wins. A page's bytes before and behind its
 * segment count too, because the kernel maps whole pages. false: in no segment. */
bool elf_vaddr_of_offset(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr);
bool elf_offset_of_vaddr(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset);

/*
 * What to subtract from an address in memory to have the file's vaddr, for the mapping
 * [start..start+len) of the file from offset on (modulo 2^64). false: it has no PT_LOAD.
 */
bool elf_load_bias(const struct elf_image *image, uint64_t start, uint64_t len, uint64_t offset,
		   uint64_t *ret_bias);

/* Lower-case hexadecimal digits and NUL; false and "" when there is none. */
bool elf_build_id(const struct elf_image *image, char ret_hex[ELF_BUILD_ID_HEX]);

#endif
