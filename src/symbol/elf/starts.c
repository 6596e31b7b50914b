/* SPDX-License-Identifier: MIT */
#include "symbol/elf/starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

/* Pointer encodings of the DWARF exception header. */
enum {
	PE_ABSPTR = 0x00,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_SIGNED = 0x08,
	PE_PCREL = 0x10,
	PE_BASE = 0x70, /* mask: what the value is relative to */
	PE_OMIT = 0xff,
	HDR_TABLE = 0x3b, /* relative to the header, 4 bytes signed: what all linkers write */
};

#define ROW 8       /* bytes */
#define CIE_HEAD 64 /* bytes that are read: no compiler writes a longer augmentation */

struct extent {
	uint64_t start, len; /* of a function */
};

static size_t pointer_size(unsigned encoding, bool is_64)
{
	switch (encoding & 7) {
	case PE_ABSPTR:
		return is_64 ? 8 : 4;
	case PE_UDATA2:
		return 2;
	case PE_UDATA4:
		return 4;
	case PE_UDATA8:
		return 8;
	default:
		return 0;
	}
}

static uint64_t row_value(const struct starts *s, size_t row, size_t column)
{
	int32_t offset;

	memcpy(&offset, s->rows + row * ROW + column * 4, sizeof offset);
	return s->base + (uint64_t)(int64_t)offset;
}

#define ENTRY_HEAD 12 /* bytes of the longest length */

/* The bytes of an entry of .eh_frame behind its length. */
static struct cursor entry_at(const struct elf_image *image, uint64_t address)
{
	struct cursor none = { .bad = true };
	uint64_t offset, len;
	const unsigned char *bytes;
	struct cursor c;

	if (!elf_offset_of_vaddr(image, address, &offset))
		return none;
	bytes = elf_bytes(image, offset, ENTRY_HEAD);
	c = cursor_make(bytes, bytes ? ENTRY_HEAD : 0);
	len = cursor_u32(&c);
	if (len == UINT32_MAX)
		len = cursor_u64(&c);
	offset += ENTRY_HEAD - cursor_left(&c);
	bytes = elf_bytes(image, offset, len);
	return bytes ? cursor_make(bytes, len) : none;
}

/* The encoding of addresses in the entries of a CIE: 'R' of its augmentation. */
static unsigned cie_encoding(struct cursor c, bool is_64)
{
	size_t len = 0;
	const char *augmentation;
	unsigned personality;

	if (cursor_left(&c) > CIE_HEAD)
		c = cursor_make(c.at, CIE_HEAD);
	cursor_skip(&c, 4); /* CIE id */
	cursor_skip(&c, 1); /* version */
	augmentation = cursor_cstr(&c, &len);
	if (!augmentation || augmentation[0] != 'z')
		return PE_ABSPTR;
	cursor_uleb(&c); /* code alignment */
	cursor_sleb(&c); /* data alignment */
	cursor_uleb(&c); /* return address */
	cursor_uleb(&c); /* augmentation length */
	for (const char *at = augmentation + 1; *at && !c.bad; at++) {
		if (*at == 'R')
			return cursor_u8(&c);
		if (*at == 'L')
			cursor_skip(&c, 1);
		if (*at != 'P')
			continue;
		personality = cursor_u8(&c);
		cursor_skip(&c, pointer_size(personality, is_64));
	}
	return PE_ABSPTR;
}

/* The length of an FDE's function; 0: unknown. */
static uint64_t fde_length(const struct elf_image *image, uint64_t address)
{
	struct cursor fde = entry_at(image, address);
	uint32_t back = cursor_u32(&fde);
	uint64_t at = address + 4; /* of the field that back counts from */
	size_t size;

	if (fde.bad || back == 0)
		return 0;
	size = pointer_size(cie_encoding(entry_at(image, at - back), image->is_64), image->is_64);
	cursor_skip(&fde, size);
	switch (size) {
	case 2:
		return cursor_u16(&fde);
	case 4:
		return cursor_u32(&fde);
	case 8:
		return cursor_u64(&fde);
	default:
		return 0;
	}
}

/* false: there is no table that can be searched. */
static bool open_table(struct starts *s)
{
	const struct elf_image *image = s->image;
	struct elf_segment segment;
	const unsigned char *bytes;
	struct cursor c;
	unsigned pointer, count, table;

	if (!elf_find_segment(image, PT_GNU_EH_FRAME, &segment))
		return false;
	bytes = elf_bytes(image, segment.offset, segment.file_size);
	c = cursor_make(bytes, bytes ? segment.file_size : 0);
	if (cursor_u8(&c) != 1) /* version */
		return false;
	pointer = cursor_u8(&c);
	count = cursor_u8(&c);
	table = cursor_u8(&c);
	if (pointer != PE_OMIT)
		cursor_skip(&c, pointer_size(pointer, image->is_64));
	if (count != PE_UDATA4 || table != HDR_TABLE)
		return false;
	s->count = cursor_u32(&c);
	if (c.bad || s->count > cursor_left(&c) / ROW)
		s->count = cursor_left(&c) / ROW;
	s->rows = c.at;
	s->base = segment.vaddr;
	return true;
}

static uint64_t read_number(struct cursor *c, size_t size)
{
	return size == 2 ? cursor_u16(c) : size == 4 ? cursor_u32(c) : cursor_u64(c);
}

/* fde: behind its length; address: of its first byte. */
static void add_fde(struct starts *s, struct cursor fde, uint64_t address)
{
	uint64_t back = cursor_u32(&fde);
	unsigned encoding = cie_encoding(entry_at(s->image, address - back), s->image->is_64);
	size_t size = pointer_size(encoding, s->image->is_64);
	struct extent extent;

	if (back == 0 || size == 0)
		return; /* a CIE, or of no known kind */
	extent.start = read_number(&fde, size);
	if (size == 4 && encoding & PE_SIGNED)
		extent.start = (uint64_t)(int64_t)(int32_t)extent.start;
	if ((encoding & PE_BASE) == PE_PCREL)
		extent.start += address + 4;
	extent.len = read_number(&fde, size);
	if (!fde.bad && extent.len)
		buf_put(&s->extents, &extent, sizeof extent);
}

static int compare_extents(const void *a, const void *b)
{
	uint64_t x = ((const struct extent *)a)->start, y = ((const struct extent *)b)->start;

	return (x > y) - (x < y);
}

static int collect(struct starts *s)
{
	struct elf_section section;
	const unsigned char *bytes = NULL;
	struct cursor c;

	if (elf_find_section(s->image, ".eh_frame", &section))
		bytes = elf_section_bytes(s->image, &section);
	if (!bytes)
		return 0;
	c = cursor_make(bytes, section.size);
	while (cursor_left(&c) >= 4) {
		uint64_t len = cursor_u32(&c), address;

		if (len == UINT32_MAX)
			len = cursor_u64(&c);
		address = section.vaddr + (uint64_t)(c.at - bytes);
		add_fde(s, cursor_sub(&c, len), address);
	}
	if (buf_error(&s->extents) < 0)
		return -ENOMEM;
	if (s->extents.len)
		qsort(s->extents.data, s->extents.len / sizeof(struct extent),
		      sizeof(struct extent), compare_extents);
	return 0;
}

int starts_open(struct starts *s, const struct elf_image *image)
{
	*s = (struct starts){ .image = image };
	return open_table(s) ? 0 : collect(s);
}

void starts_fini(struct starts *s)
{
	buf_fini(&s->extents);
}

static bool find_extent(const struct starts *s, uint64_t address, struct extent *ret)
{
	const struct extent *extents = (const void *)s->extents.data;
	size_t low = 0, high = s->extents.len / sizeof *extents;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (extents[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - extents[low - 1].start >= extents[low - 1].len)
		return false;
	*ret = extents[low - 1];
	return true;
}

static bool find_row(const struct starts *s, uint64_t address, struct extent *ret)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (row_value(s, middle, 0) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	ret->start = row_value(s, low - 1, 0);
	ret->len = fde_length(s->image, row_value(s, low - 1, 1));
	return address >= ret->start && address - ret->start < ret->len;
}

bool starts_find(const struct starts *s, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	struct extent extent = { 0 };

	if (!(s->count ? find_row(s, address, &extent) : find_extent(s, address, &extent)))
		return false;
	*ret_start = extent.start;
	*ret_end = extent.start + extent.len;
	return true;
}
