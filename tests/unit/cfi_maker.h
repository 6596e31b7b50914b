/* SPDX-License-Identifier: MIT */
/*
 * cfi_maker: ELF files with hand-made call frame information, for tests.
 *
 * Records are put one behind the other into .eh_frame or .debug_frame; then make_elf() puts
 * a file around them: one executable segment of code at CODE_VADDR.
 */
#ifndef CFI_MAKER_H
#define CFI_MAKER_H

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/elf_image.h"
#include "base/macros.h"

#define CODE_VADDR 0x1000
#define CODE_LEN 0x1000
#define EH_VADDR 0x8000 /* of .eh_frame */

struct cfi_maker {
	uint16_t machine;
	bool is_debug; /* .debug_frame */
	struct buf cfi;
	uint32_t cie_at; /* offset of the last CIE */
};

struct bytes {
	const void *at;
	size_t len;
};
#define BYTES_INIT(text)               \
	{                              \
		text, sizeof(text) - 1 \
	}
#define BYTES(text) ((struct bytes)BYTES_INIT(text))

static inline void maker_fini(struct cfi_maker *m)
{
	buf_fini(&m->cfi);
}

/* A record: its id, then its body. */
static inline void put_record(struct cfi_maker *m, uint32_t id, const struct buf *body)
{
	buf_put_u32(&m->cfi, (uint32_t)body->len + 4);
	buf_put_u32(&m->cfi, id);
	buf_put(&m->cfi, body->data, body->len);
}

/* augmentation: "", "zR", "zRS"; addresses are 8 bytes, absolute. initial: instructions. */
static inline void put_cie(struct cfi_maker *m, const char *augmentation, struct bytes initial)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	m->cie_at = (uint32_t)m->cfi.len;
	buf_put_byte(&body, m->is_debug ? 3 : 1);
	buf_put(&body, augmentation, strlen(augmentation) + 1);
	buf_put_byte(&body, m->machine == EM_AARCH64 ? 4 : 1);   /* code alignment */
	buf_put_byte(&body, 0x78);                               /* data alignment: -8 */
	buf_put_byte(&body, m->machine == EM_AARCH64 ? 30 : 16); /* return address */
	if (*augmentation == 'z')
		buf_put(&body, "\1\0", 2); /* 'R': absolute */
	buf_put(&body, initial.at, initial.len);
	put_record(m, m->is_debug ? UINT32_MAX : 0, &body);
}

/* The usual CIE: the call pushed the return address; or left it in x30. */
static inline void put_usual_cie(struct cfi_maker *m)
{
	if (m->machine == EM_AARCH64)
		put_cie(m, "zR", BYTES("\x0c\x1f\x00")); /* def_cfa sp + 0 */
	else
		put_cie(m, "zR", BYTES("\x0c\x07\x08\x90\x01")); /* def_cfa rsp + 8; ra at c-8 */
}

/* Of the last CIE. */
static inline void put_fde(struct cfi_maker *m, uint64_t start, uint64_t len, struct bytes program)
{
	CLEANUP(buf_fini) struct buf body = { 0 };

	buf_put_u64(&body, start);
	buf_put_u64(&body, len);
	if (!m->is_debug)
		buf_put_byte(&body, 0); /* augmentation data */
	buf_put(&body, program.at, program.len);
	put_record(m, m->is_debug ? m->cie_at : (uint32_t)m->cfi.len + 4 - m->cie_at, &body);
}

/* code: the first bytes of the segment, the rest is zero. The image views out. */
static inline struct elf_image make_elf(const struct cfi_maker *m, struct bytes code,
					uint64_t entry, struct buf *out)
{
	static const char names[] = "\0.names\0.eh_frame\0.debug_frame";
	uint64_t names_at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 3 * sizeof(Elf64_Shdr);
	uint64_t cfi_at = names_at + sizeof names, code_at = (cfi_at + m->cfi.len + 4095) & ~4095u;
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN,
		.e_machine = m->machine,
		.e_entry = entry,
		.e_phoff = sizeof header,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = sizeof header + sizeof(Elf64_Phdr),
		.e_shnum = 3,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shstrndx = 1,
	};
	Elf64_Phdr load = { .p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_offset = code_at,
			    .p_vaddr = CODE_VADDR,
			    .p_filesz = CODE_LEN,
			    .p_memsz = CODE_LEN };
	Elf64_Shdr sections[3] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = names_at,
		  .sh_size = sizeof names },
		{ .sh_name = m->is_debug ? 18 : 8,
		  .sh_type = SHT_PROGBITS,
		  .sh_addr = EH_VADDR,
		  .sh_offset = cfi_at,
		  .sh_size = m->cfi.len },
	};
	struct elf_image image = { 0 };
	struct err e;

	buf_clear(out);
	buf_put(out, &header, sizeof header);
	buf_put(out, &load, sizeof load);
	buf_put(out, sections, sizeof sections);
	buf_put(out, names, sizeof names);
	buf_put(out, m->cfi.data, m->cfi.len);
	while (out->len < code_at)
		buf_put_byte(out, 0);
	buf_put(out, code.at, code.len);
	while (out->len < code_at + CODE_LEN)
		buf_put_byte(out, 0);
	if (elf_image_init(&image, out->data, out->len, &e) < 0)
		fprintf(stderr, "the made file: %s\n", e.msg);
	return image;
}

#endif
