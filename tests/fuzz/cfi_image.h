/* SPDX-License-Identifier: MIT */
/*
 * cfi_image: an ELF file whose call frame information is the fuzzer's, and whose code is
 * everywhere, so that no description is left out for its address.
 */
#ifndef CFI_IMAGE_H
#define CFI_IMAGE_H

#include <elf.h>
#include <string.h>

#include "base/elf_image.h"
#include "fuzz.h"

#define CFI_IMAGE_HEAD 512

struct cfi_image {
	unsigned char *bytes; /* of the file; freed by cfi_image_fini */
	struct elf_image image;
};

static inline void cfi_image_fini(struct cfi_image *c)
{
	free(c->bytes);
}

static inline struct cfi_image cfi_image_make(uint16_t machine, bool is_debug, const uint8_t *cfi,
					      size_t size)
{
	static const char names[] = "\0.names\0.eh_frame\0.debug_frame";
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_phoff = sizeof header,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = sizeof header + sizeof(Elf64_Phdr),
		.e_shnum = 3,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shstrndx = 1,
	};
	Elf64_Phdr load = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = UINT32_MAX };
	Elf64_Shdr sections[3] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = CFI_IMAGE_HEAD - sizeof names,
		  .sh_size = sizeof names },
		{ .sh_name = is_debug ? 18 : 8,
		  .sh_type = SHT_PROGBITS,
		  .sh_addr = 0x10000,
		  .sh_offset = CFI_IMAGE_HEAD,
		  .sh_size = size },
	};
	struct cfi_image c = { .bytes = malloc(CFI_IMAGE_HEAD + size) };
	struct err e;

	FUZZ_CHECK(c.bytes);
	memset(c.bytes, 0, CFI_IMAGE_HEAD);
	memcpy(c.bytes, &header, sizeof header);
	memcpy(c.bytes + sizeof header, &load, sizeof load);
	memcpy(c.bytes + sizeof header + sizeof load, sections, sizeof sections);
	memcpy(c.bytes + CFI_IMAGE_HEAD - sizeof names, names, sizeof names);
	if (size)
		memcpy(c.bytes + CFI_IMAGE_HEAD, cfi, size);
	FUZZ_CHECK(elf_image_init(&c.image, c.bytes, CFI_IMAGE_HEAD + size, &e) == 0);
	return c;
}

#endif
