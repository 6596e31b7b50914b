/* SPDX-License-Identifier: MIT */
#include "symbol/elf/pclntab.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"

/* The first four bytes. Go 1.20 differs from 1.18 in what is not read here. */
#define GO_1_2 0xfffffffb
#define GO_1_16 0xfffffffa
#define GO_1_18 0xfffffff0
#define GO_1_20 0xfffffff1

#define HEAD_BYTES 8 /* before the first number */

struct table {
	const unsigned char *bytes; /* [0..len): the section */
	uint64_t len, vaddr;
	uint32_t magic;
	unsigned number_bytes; /* of an address */
	unsigned entry_bytes;  /* of each of the two numbers in a row */
	uint64_t count;        /* of functions */
	uint64_t text;         /* what the addresses of rows are relative to */
	uint64_t names;        /* where names are, rows, */
	uint64_t rows;
	uint64_t records; /* and what the second number in a row is relative to */
};

/* 0: it is not there. */
static uint64_t number_at(const struct table *t, uint64_t at, unsigned bytes)
{
	uint64_t v = 0;

	if (at <= t->len && bytes <= t->len - at)
		memcpy(&v, t->bytes + at, bytes);
	return v;
}

/* The number of this index in the head. */
static uint64_t head_number(const struct table *t, unsigned index)
{
	return number_at(t, HEAD_BYTES + (uint64_t)index * t->number_bytes, t->number_bytes);
}

/* Of a number that the dynamic linker writes, at an address; 0: it does not. */
static uint64_t relocated(const struct elf_image *image, uint64_t vaddr)
{
	struct elf_section s;
	const unsigned char *bytes;
	struct cursor c;

	if (!image->is_64 || !elf_find_section(image, ".rela.dyn", &s))
		return 0;
	bytes = elf_section_bytes(image, &s);
	if (!bytes)
		return 0;
	c = cursor_make(bytes, s.size);
	while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t at = cursor_u64(&c), addend;

		cursor_skip(&c, 8);
		addend = cursor_u64(&c);
		if (at == vaddr)
			return addend;
	}
	return 0;
}

/* Where Go's code begins: by the head, which may be zero in position-independent programs, else
 * that is where all code does. */
static uint64_t find_text(const struct elf_image *image, const struct table *t)
{
	uint64_t text = head_number(t, 2);
	struct elf_section s;

	if (!text)
		text = relocated(image, t->vaddr + HEAD_BYTES + 2ULL * t->number_bytes);
	if (!text && elf_find_section(image, ".text", &s))
		text = s.vaddr;
	return text;
}

static bool find_parts(const struct elf_image *image, struct table *t)
{
	unsigned after = t->magic == GO_1_16 ? 2 : 3; /* functions, files, text */

	t->count = head_number(t, 0);
	t->entry_bytes = t->number_bytes;
	switch (t->magic) {
	case GO_1_2:
		t->rows = HEAD_BYTES + t->number_bytes;
		return true;
	case GO_1_16:
		break;
	case GO_1_18:
	case GO_1_20:
		t->entry_bytes = 4;
		t->text = find_text(image, t);
		break;
	default:
		return false;
	}
	t->names = head_number(t, after);
	t->rows = t->records = head_number(t, after + 4);
	return true;
}

/* false: there is none, or it is of a kind that is not known. */
static bool open_table(const struct elf_image *image, struct table *ret)
{
	struct elf_section s;

	if (!elf_find_section(image, ".gopclntab", &s) &&
	    !elf_find_section(image, ".data.rel.ro.gopclntab", &s))
		return false;
	*ret = (struct table){ .bytes = elf_section_bytes(image, &s),
			       .len = s.size,
			       .vaddr = s.vaddr };
	if (!ret->bytes || ret->len < HEAD_BYTES || ret->bytes[4] || ret->bytes[5])
		return false;
	ret->magic = (uint32_t)number_at(ret, 0, 4);
	ret->number_bytes = ret->bytes[7];
	if (ret->number_bytes != 4 && ret->number_bytes != 8)
		return false;
	return find_parts(image, ret);
}

/* NUL-terminated, or NULL. record: begins with the address and the place of the name. */
static const char *name_of(const struct table *t, uint64_t record)
{
	uint64_t at = t->names + number_at(t, record + t->entry_bytes, 4);

	if (at < t->names || at >= t->len || !memchr(t->bytes + at, '\0', t->len - at))
		return NULL;
	return t->bytes[at] ? (const char *)t->bytes + at : NULL;
}

/* A row is where a function begins and where its record is; it ends where the next begins, and the
 * last row has only an end. */
bool pclntab_offer(const struct elf_image *image, struct symbols *symbols)
{
	struct table t;
	uint64_t row_bytes, start;

	if (!open_table(image, &t))
		return false;
	row_bytes = 2ULL * t.entry_bytes;
	if (t.rows >= t.len || t.count > (t.len - t.rows) / row_bytes)
		return false;
	start = t.text + number_at(&t, t.rows, t.entry_bytes);
	for (uint64_t i = 0; i < t.count; i++) {
		uint64_t row = t.rows + i * row_bytes;
		uint64_t end = t.text + number_at(&t, row + row_bytes, t.entry_bytes);
		uint64_t record = t.records + number_at(&t, row + t.entry_bytes, t.entry_bytes);
		struct symbol symbol = {
			.start = start,
			.end = end,
			.name = record < t.len ? name_of(&t, record) : NULL,
			.rank = SYMBOL_LOCAL,
			.is_sized = true,
		};

		if (symbol.name && start < end)
			symbols_offer(symbols, &symbol);
		start = end;
	}
	return true;
}
