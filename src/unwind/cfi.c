/* SPDX-License-Identifier: MIT */
#include "unwind/cfi.h"

#include <endian.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind/inflate.h"

#define UNPACKED_MAX (UINT64_C(256) << 20) /* bytes of a section that was compressed */
#define DEFLATE_MAX 1032                   /* times that deflate can make bytes fewer */

/* Encodings of addresses. Source: LSB 5.0, 10.5.1. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* vaddr: of the byte at c, for what is relative to it. data: of the section that is meant by
 * "data relative". Indirect and unusual ones are bad: no code address is written so. */
static uint64_t take_pointer(struct cursor *c, uint8_t encoding, uint64_t vaddr, uint64_t data)
{
	uint64_t value = 0;

	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		value = cursor_u64(c);
		break;
	case PE_ULEB128:
		value = cursor_uleb(c);
		break;
	case PE_UDATA2:
		value = cursor_u16(c);
		break;
	case PE_UDATA4:
		value = cursor_u32(c);
		break;
	case PE_SLEB128:
		value = (uint64_t)cursor_sleb(c);
		break;
	case PE_SDATA2:
		value = (uint64_t)(int16_t)cursor_u16(c);
		break;
	case PE_SDATA4:
		value = (uint64_t)(int32_t)cursor_u32(c);
		break;
	default:
		c->bad = true;
	}
	switch (encoding & (PE_BASE | PE_INDIRECT)) {
	case 0:
		return value;
	case PE_PCREL:
		return value + vaddr;
	case PE_DATAREL:
		return value + data;
	default:
		c->bad = true;
		return 0;
	}
}

uint64_t cfi_take_address(const struct cfi_section *s, const struct cfi_cie *cie, struct cursor *c)
{
	return take_pointer(c, cie->encoding, s->vaddr + (uint64_t)(c->at - s->bytes), s->vaddr);
}

void cfi_section_init(struct cfi_section *ret, const void *bytes, uint64_t len, uint64_t vaddr,
		      bool is_eh, const struct unwind_arch *arch)
{
	ret->bytes = bytes;
	ret->len = len;
	ret->vaddr = vaddr;
	ret->is_eh = is_eh;
	ret->is_open_ended = false;
	ret->arch = arch;
	ret->unpacked = NULL;
	/* Files have few CIEs in .eh_frame, and one a compilation unit in .debug_frame. Reading
	 * each of them twice over is all that the cache's misses should cost. */
	ret->work = 4 * len + 4096;
	for (size_t i = 0; i < CFI_CIES; i++)
		ret->cies[i].at = UINT64_MAX;
}

/* Without section headers: .eh_frame_hdr has the start of .eh_frame, but not its end. */
static bool open_by_header(struct cfi_section *ret, const struct elf_image *image,
			   const struct unwind_arch *arch)
{
	struct elf_segment header, load;
	const unsigned char *bytes;
	struct cursor c;
	uint64_t vaddr;
	uint8_t encoding;

	if (!elf_find_segment(image, PT_GNU_EH_FRAME, &header))
		return false;
	bytes = elf_bytes(image, header.offset, header.file_size);
	c = cursor_make(bytes, header.file_size);
	if (cursor_u8(&c) != 1)
		return false;
	encoding = cursor_u8(&c);
	cursor_skip(&c, 2); /* how the sorted table behind is encoded: we sort ourselves */
	vaddr = take_pointer(&c, encoding, header.vaddr + 4, header.vaddr);
	if (c.bad || encoding == PE_OMIT)
		return false;
	for (uint32_t i = 0; i < image->phnum; i++) {
		load = elf_get_segment(image, i);
		if (load.type != PT_LOAD || vaddr - load.vaddr >= load.file_size)
			continue;
		load.file_size -= vaddr - load.vaddr;
		bytes = elf_bytes(image, load.offset + (vaddr - load.vaddr), load.file_size);
		if (!bytes)
			return false;
		cfi_section_init(ret, bytes, load.file_size, vaddr, true, arch);
		ret->is_open_ended = true;
		return true;
	}
	return false;
}

static bool open_section(struct cfi_section *ret, const struct elf_image *image, const char *name,
			 const struct unwind_arch *arch)
{
	struct elf_section section;
	const unsigned char *bytes;

	if (!elf_find_section(image, name, &section) || section.flags & SHF_COMPRESSED)
		return false;
	bytes = elf_section_bytes(image, &section);
	if (!bytes)
		return false;
	cfi_section_init(ret, bytes, section.size, section.vaddr, false, arch);
	return true;
}

/* How many bytes a compressed section has, and where its stream starts. Two kinds: the one of
 * the gABI, and what GNU tools (and Go before 1.19) named ".z..." before. */
static bool open_stream(const struct elf_image *image, struct cursor *ret_stream, uint64_t *ret_len)
{
	struct elf_section section;
	const unsigned char *bytes;

	if (elf_find_section(image, ".debug_frame", &section) && section.flags & SHF_COMPRESSED) {
		bytes = elf_section_bytes(image, &section);
		*ret_stream = cursor_make(bytes, bytes ? section.size : 0);
		if (cursor_u32(ret_stream) != ELFCOMPRESS_ZLIB)
			return false;
		if (image->is_64)
			cursor_skip(ret_stream, 4);
		*ret_len = image->is_64 ? cursor_u64(ret_stream) : cursor_u32(ret_stream);
		cursor_skip(ret_stream, image->is_64 ? 8 : 4); /* ch_addralign */
		return !ret_stream->bad;
	}
	if (!elf_find_section(image, ".zdebug_frame", &section))
		return false;
	bytes = elf_section_bytes(image, &section);
	*ret_stream = cursor_make(bytes, bytes ? section.size : 0);
	bytes = cursor_bytes(ret_stream, 4);
	if (!bytes || memcmp(bytes, "ZLIB", 4) != 0)
		return false;
	*ret_len = be64toh(cursor_u64(ret_stream));
	return !ret_stream->bad;
}

static bool open_compressed(struct cfi_section *ret, const struct elf_image *image,
			    const struct unwind_arch *arch)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct cursor stream;
	uint64_t len;
	void *bytes;

	if (!open_stream(image, &stream, &len) || len == 0 || len > UNPACKED_MAX ||
	    len / DEFLATE_MAX > cursor_left(&stream))
		return false;
	/* cppcheck-suppress invalidFunctionArg */
	bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (bytes == MAP_FAILED)
		return false;
	if (inflate_zlib(stream.at, cursor_left(&stream), bytes, len) < 0) {
		munmap(bytes, len);
		return false;
	}
	cfi_section_init(ret, bytes, len, 0, false, arch);
	ret->unpacked = bytes;
	ret->unpacked_len = len;
	return true;
}

void cfi_section_close(struct cfi_section *s)
{
	if (s->unpacked)
		munmap(s->unpacked, s->unpacked_len);
	s->unpacked = NULL;
}

/* Do addresses have the machine's size? x32 programs' do not. */
static bool is_class_of(const struct elf_image *image, const struct unwind_arch *arch)
{
	return arch && image->is_64 == (arch->word == 8);
}

bool cfi_section_open_eh(struct cfi_section *ret, const struct elf_image *image)
{
	const struct unwind_arch *arch = unwind_arch_of(image->machine);

	if (!is_class_of(image, arch))
		return false;
	if (!open_section(ret, image, ".eh_frame", arch))
		return open_by_header(ret, image, arch);
	ret->is_eh = true;
	return true;
}

bool cfi_section_open_debug(struct cfi_section *ret, const struct elf_image *image)
{
	const struct unwind_arch *arch = unwind_arch_of(image->machine);

	return is_class_of(image, arch) && (open_section(ret, image, ".debug_frame", arch) ||
					    open_compressed(ret, image, arch));
}

/* One record of the section. */
struct record {
	uint64_t at;    /* offset of its length */
	uint64_t id_at; /* offset of its id field */
	uint64_t id;
	bool is_cie;
	struct cursor body; /* behind the id */
};

/* The record at *at, which moves behind it. false: no more. An empty record has an empty
 * body and is no CIE; id is UINT64_MAX. */
static bool take_record(const struct cfi_section *s, uint64_t *at, struct record *ret)
{
	struct cursor c;
	uint64_t len;
	bool is_64 = false;

	if (*at >= s->len)
		return false;
	c = cursor_make(s->bytes + *at, s->len - *at);
	*ret = (struct record){ .at = *at, .id = UINT64_MAX };
	len = cursor_u32(&c);
	if (len == UINT32_MAX) {
		is_64 = true;
		len = cursor_u64(&c);
	}
	if (c.bad || len > cursor_left(&c) || (len == 0 && s->is_open_ended))
		return false;
	ret->id_at = s->len - cursor_left(&c);
	ret->body = cursor_sub(&c, len);
	*at = ret->id_at + len;
	if (len == 0)
		return true;
	/* .eh_frame has 4 bytes here whatever the length's size. */
	if (is_64 && !s->is_eh) {
		ret->id = cursor_u64(&ret->body);
		ret->is_cie = ret->id == UINT64_MAX;
	} else {
		ret->id = cursor_u32(&ret->body);
		ret->is_cie = ret->id == (s->is_eh ? 0 : UINT32_MAX);
	}
	if (ret->body.bad)
		return false;
	return true;
}

/* The encoding, with the size of what has the machine's. */
static uint8_t sized(const struct unwind_arch *arch, uint8_t encoding)
{
	return (encoding & PE_FORMAT) == PE_ABSPTR && arch->word == 4 ? encoding | PE_UDATA4
								      : encoding;
}

/* The data of the letters behind the 'z' of a CIE. */
static bool parse_augmentation(const struct unwind_arch *arch, struct cfi_cie *cie,
			       const char *letters, struct cursor data)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->encoding = sized(arch, cursor_u8(&data));
			break;
		case 'P': /* the personality routine; only its size matters here */
			encoding = cursor_u8(&data);
			take_pointer(&data, sized(arch, encoding) & PE_FORMAT, 0, 0);
			break;
		case 'L':
			cursor_u8(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* AArch64: signed with key B */
		case 'G': /* AArch64: tagged memory */
			break;
		default:
			return false;
		}
	}
	return !data.bad;
}

static void run_initial(struct cfi_section *s, struct cfi_cie *cie, struct cursor program)
{
	struct cfi_run run = {
		.section = s, .cie = cie, .code = program, .end = UINT64_MAX, .rule = cie->initial
	};
	struct unwind_rule ignored;
	uint64_t pc;

	/* No address is passed here; if one is, the last state counts. */
	while (cfi_run_row(&run, &pc, &ignored))
		;
	cie->initial = run.rule;
	cie->is_ok = !run.is_broken;
}

static void parse_cie(struct cfi_section *s, const struct record *r, struct cfi_cie *cie)
{
	struct cursor c = r->body;
	uint8_t version = cursor_u8(&c);
	size_t letters_len = 0;
	const char *letters = cursor_cstr(&c, &letters_len);
	uint64_t ra;

	if (!letters || (version != 1 && version != 3 && version != 4))
		return;
	if (version == 4 && (cursor_u8(&c) != s->arch->word || cursor_u8(&c) != 0))
		return; /* address size, segment selector size */
	cie->code_align = cursor_uleb(&c);
	cie->data_align = cursor_sleb(&c);
	ra = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);
	if (c.bad || ra != s->arch->save[UNWIND_RA])
		return;
	cie->encoding = sized(s->arch, PE_ABSPTR);
	if (*letters == 'z') {
		cie->has_augmentation_data = true;
		if (!parse_augmentation(s->arch, cie, letters + 1, cursor_sub(&c, cursor_uleb(&c))))
			return;
	} else if (*letters) {
		return;
	}
	cie->initial.is_signal = cie->is_signal;
	run_initial(s, cie, c);
}

/* The CIE at an offset; NULL: none that can be used. */
static const struct cfi_cie *get_cie(struct cfi_section *s, uint64_t at)
{
	struct cfi_cie *cie = &s->cies[(at ^ at >> 7) / 4 % CFI_CIES];
	struct record r;
	uint64_t next = at;

	if (cie->at == at)
		return cie->is_ok ? cie : NULL;
	if (!take_record(s, &next, &r) || !r.is_cie || next - at > s->work)
		return NULL;
	s->work -= next - at;
	*cie = (struct cfi_cie){ .at = at };
	parse_cie(s, &r, cie);
	return cie->is_ok ? cie : NULL;
}

static bool parse_fde(struct cfi_section *s, const struct record *r, struct cfi_fde *ret)
{
	uint64_t cie_at = s->is_eh ? r->id_at - r->id : r->id;
	const struct cfi_cie *cie = cie_at < r->at ? get_cie(s, cie_at) : NULL;
	struct cursor c = r->body;
	uint64_t len;

	/* .debug_frame may have its CIEs behind, .eh_frame cannot */
	if (!cie && !s->is_eh && cie_at < s->len)
		cie = get_cie(s, cie_at);
	if (!cie)
		return false;
	ret->at = r->at;
	ret->cie = cie;
	ret->start = cfi_take_address(s, cie, &c);
	len = take_pointer(&c, cie->encoding & PE_FORMAT, 0, 0);
	if (cie->has_augmentation_data)
		cursor_skip(&c, cursor_uleb(&c));
	ret->program = c;
	return !c.bad && len && !__builtin_add_overflow(ret->start, len, &ret->end);
}

bool cfi_next_fde(struct cfi_section *s, uint64_t *at, struct cfi_fde *ret)
{
	struct record r;

	while (take_record(s, at, &r))
		if (!r.is_cie && r.id != UINT64_MAX && parse_fde(s, &r, ret))
			return true;
	return false;
}
