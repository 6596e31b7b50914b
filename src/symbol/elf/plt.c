/* SPDX-License-Identifier: MIT */
#include "symbol/elf/plt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/map.h"
#include "symbol/elf/symtab.h"
#include "symbol/lookup/rangemap.h"

#define STUB_MAX 32 /* bytes; the longest is 24, aarch64 with BTI and PAC */

/* Relocations of the slots that stubs jump through. */
struct slots {
	const struct elf_image *image;
	struct map names;         /* address of the slot to index of its symbol, 0: none */
	struct map resolver;      /* slot without symbol to its index in addends */
	struct buf addends;       /* uint64_t: where the resolver of an IRELATIVE slot is */
	struct buf sorted;        /* uint64_t: the same ascending, no two equal */
	struct symbol *resolvers; /* [of sorted]: whose code that is; owned */
	struct buf order;         /* uint64_t: the slot of relocation n of .rela.plt */
	uint32_t symtab;          /* section that the indices are for */
	uint64_t got;             /* address of .got.plt, which i386 stubs count from */
	bool bad;                 /* out of memory */
};

static bool is_relocation(const struct elf_section *s)
{
	return (s->type == SHT_RELA || s->type == SHT_REL) && (s->flags & SHF_ALLOC);
}

static bool is_irelative(const struct elf_image *image, uint64_t info)
{
	switch (image->machine) {
	case EM_X86_64:
		return ELF64_R_TYPE(info) == R_X86_64_IRELATIVE;
	case EM_386:
		return ELF32_R_TYPE(info) == R_386_IRELATIVE;
	default:
		return ELF64_R_TYPE(info) == R_AARCH64_IRELATIVE;
	}
}

static void add_slot(struct slots *s, uint64_t slot, uint64_t info, uint64_t addend)
{
	uint32_t index = (uint32_t)(s->image->is_64 ? ELF64_R_SYM(info) : ELF32_R_SYM(info));

	if (index == 0 && !is_irelative(s->image, info))
		return;
	if (map_put(&s->names, slot, index) < 0)
		s->bad = true;
	if (index || s->bad)
		return;
	if (map_put(&s->resolver, slot, (uint32_t)(s->addends.len / sizeof addend)) < 0)
		s->bad = true;
	buf_put(&s->addends, &addend, sizeof addend);
}

/* is_plt: in the order of the lazy stubs, which push their index. */
static void read_relocations(struct slots *s, const struct elf_section *table, bool is_plt)
{
	const unsigned char *bytes = elf_section_bytes(s->image, table);
	size_t word = s->image->is_64 ? 8 : 4;
	size_t row = word * (table->type == SHT_RELA ? 3 : 2);
	struct cursor c = cursor_make(bytes, bytes ? table->size : 0);

	if (table->link && table->link != s->symtab && s->symtab)
		return;
	s->symtab = table->link ? table->link : s->symtab;
	while (cursor_left(&c) >= row) {
		uint64_t slot = word == 8 ? cursor_u64(&c) : cursor_u32(&c);
		uint64_t info = word == 8 ? cursor_u64(&c) : cursor_u32(&c);
		uint64_t addend = 0;

		if (table->type == SHT_RELA)
			addend = word == 8 ? cursor_u64(&c) : cursor_u32(&c);
		add_slot(s, slot, info, addend);
		if (is_plt)
			buf_put(&s->order, &slot, sizeof slot);
	}
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_addends(struct slots *s)
{
	size_t count = s->addends.len / sizeof(uint64_t), kept = 0;
	uint64_t *all;

	buf_put(&s->sorted, s->addends.data, s->addends.len);
	if (buf_error(&s->sorted) < 0)
		return;
	all = (void *)s->sorted.data;
	qsort(all, count, sizeof *all, compare_addresses);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || all[i] != all[kept - 1])
			all[kept++] = all[i];
	s->sorted.len = kept * sizeof *all;
}

/* A function that is chosen when the program starts has the address of what chooses. */
static int find_resolvers(struct slots *s, const struct plt_tables *tables)
{
	size_t count;
	struct symbols symbols;
	int rc;

	if (!s->addends.len)
		return 0;
	sort_addends(s);
	count = s->sorted.len / sizeof(uint64_t);
	s->resolvers = calloc(count + 1, sizeof *s->resolvers);
	if (!s->resolvers || buf_error(&s->sorted) < 0 ||
	    symbols_init(&symbols, (const void *)s->sorted.data, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(tables->images); i++) {
		if (!tables->images[i])
			continue;
		symtab_offer(tables->images[i], SHT_SYMTAB, &symbols);
		symtab_offer(tables->images[i], SHT_DYNSYM, &symbols);
	}
	rc = symbols_resolve(&symbols, s->resolvers);
	symbols_fini(&symbols);
	return rc;
}

/* The name of the function that the resolver at an address chooses; NULL: it is not known. */
static const char *resolved_name(const struct slots *s, uint64_t address)
{
	const uint64_t *first = (const void *)s->sorted.data;
	const uint64_t *found = bsearch(&address, first, s->sorted.len / sizeof *first,
					sizeof *first, compare_addresses);
	const struct symbol *symbol = found ? &s->resolvers[found - first] : NULL;

	return symbol && symbol->name && symbol->start == address ? symbol->name : NULL;
}

static int slots_init(struct slots *s, const struct elf_image *image,
		      const struct plt_tables *tables)
{
	struct elf_section plt = { 0 }, got;

	*s = (struct slots){ .image = image };
	if (elf_find_section(image, ".rela.plt", &plt) || elf_find_section(image, ".rel.plt", &plt))
		read_relocations(s, &plt, true);
	for (uint32_t i = 0; i < image->shnum; i++) {
		struct elf_section table = elf_get_section(image, i);

		if (is_relocation(&table) && table.offset != plt.offset)
			read_relocations(s, &table, false);
	}
	if (elf_find_section(image, ".got.plt", &got) || elf_find_section(image, ".got", &got))
		s->got = got.vaddr;
	if (s->bad || buf_error(&s->order) < 0 || buf_error(&s->addends) < 0)
		return -ENOMEM;
	return find_resolvers(s, tables);
}

static void slots_fini(struct slots *s)
{
	map_fini(&s->names);
	map_fini(&s->resolver);
	buf_fini(&s->addends);
	buf_fini(&s->sorted);
	free(s->resolvers);
	buf_fini(&s->order);
}

static uint32_t read_u32(const unsigned char *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof number);
	return number;
}

/* A stub whose bytes are code[0..len) at address. Yields the slot it jumps through. */
static bool decode_x86(const struct slots *s, const unsigned char *code, size_t len,
		       uint64_t address, uint64_t *ret_slot)
{
	const uint64_t *order = (const void *)s->order.data;
	size_t order_len = s->order.len / sizeof *order;

	for (size_t i = 0; i + 6 <= len; i++) {
		const unsigned char *at = code + i;

		if (at[0] == 0xff && at[1] == 0x25) { /* jmp *number(%rip) */
			uint32_t number = read_u32(at + 2);

			*ret_slot = s->image->is_64 ? address + i + 6 + (uint64_t)(int32_t)number
						    : number;
			return true;
		}
		if (at[0] == 0xff && at[1] == 0xa3) { /* jmp *number(%ebx) */
			*ret_slot = (uint32_t)(s->got + read_u32(at + 2));
			return true;
		}
		if (at[0] == 0x68 && i <= 4) { /* push $number, perhaps behind endbr64 */
			/* i386: offset in .rel.plt */
			uint32_t index = read_u32(at + 1) / (s->image->is_64 ? 1 : 8);

			*ret_slot = index < order_len ? order[index] : 0;
			return index < order_len;
		}
	}
	return false;
}

/* adrp x16, page; ldr x17, [x16, #offset] */
static bool decode_aarch64(const unsigned char *code, size_t len, uint64_t address,
			   uint64_t *ret_slot)
{
	uint64_t page;

	for (size_t i = 0; i + 8 <= len; i += 4) {
		uint32_t adrp = read_u32(code + i), ldr = read_u32(code + i + 4);

		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
		page = (page ^ UINT64_C(0x100000)) - UINT64_C(0x100000); /* 21 bits, signed */
		*ret_slot =
			((address + i) & ~UINT64_C(0xfff)) + (page << 12) + (ldr >> 10 & 0xfff) * 8;
		return true;
	}
	return false;
}

static bool decode(const struct slots *s, const unsigned char *code, size_t len, uint64_t address,
		   uint64_t *ret_slot)
{
	if (s->image->machine == EM_AARCH64)
		return decode_aarch64(code, len, address, ret_slot);
	if (s->image->machine == EM_X86_64 || s->image->machine == EM_386)
		return decode_x86(s, code, len, address, ret_slot);
	return false;
}

/* "name@plt"; for a slot without symbol, as of functions that are chosen by the CPU's abilities,
 * by what chooses, or where that is. */
static bool slot_name(const struct slots *s, uint64_t slot, struct buf *ret)
{
	uint32_t index = map_get(&s->names, slot);
	const uint64_t *addends = (const void *)s->addends.data;
	const char *name;

	if (index == MAP_NONE)
		return false;
	if (index == 0) {
		uint32_t at = map_get(&s->resolver, slot);

		if (at == MAP_NONE || addends[at] == 0)
			return false;
		name = resolved_name(s, addends[at]);
		if (!name)
			buf_printf(ret, "*ABS*+0x%" PRIx64 "@plt", addends[at]);
	} else {
		name = symtab_name(s->image, s->symtab, index);
	}
	if (!name)
		return index == 0;
	buf_put(ret, name, symbol_name_length(name));
	buf_put_str(ret, "@plt");
	return true;
}

/* The first stub of .plt, which the lazy ones jump to, has no slot of its own. */
static void name_stub(const struct slots *s, const unsigned char *code, size_t len,
		      uint64_t address, struct buf *ret)
{
	uint64_t slot;

	if (!decode(s, code, len, address, &slot) || !slot_name(s, slot, ret))
		buf_put_str(ret, ".plt");
}

static uint64_t stub_size(const struct elf_section *plt)
{
	return plt->entry_size >= 4 && plt->entry_size <= STUB_MAX ? plt->entry_size : 16;
}

/* Returns where the stub ends. */
static uint64_t offer_stub(const struct slots *slots, const struct elf_section *plt,
			   uint64_t address, struct strtab *names, struct symbols *symbols)
{
	uint64_t size = stub_size(plt), at = (address - plt->vaddr) / size * size;
	struct symbol symbol = { .start = plt->vaddr + at, .is_sized = true };
	const unsigned char *code = elf_section_bytes(slots->image, plt);
	struct buf name = { 0 };
	uint32_t id;

	symbol.end = symbol.start + size;
	name_stub(slots, code + at, plt->size - at < size ? plt->size - at : size, symbol.start,
		  &name);
	id = buf_error(&name) < 0 ? STRTAB_NONE : strtab_intern(names, name.data, name.len);
	buf_fini(&name);
	if (id == STRTAB_NONE) {
		symbols->sized.bad = true;
		return symbol.end;
	}
	symbol.name = strtab_get(names, id).ptr;
	symbols_offer(symbols, &symbol);
	return symbol.end;
}

static bool is_wanted(const struct symbols *symbols, const struct elf_section *plt)
{
	struct rangemap all = rangemap_make(symbols->wanted, symbols->count);
	size_t first = rangemap_first(&all, plt->vaddr);

	return first < symbols->count && symbols->wanted[first] - plt->vaddr < plt->size;
}

static void offer_stubs(const struct slots *slots, const struct elf_section *plt,
			struct strtab *names, struct symbols *symbols)
{
	struct rangemap all = rangemap_make(symbols->wanted, symbols->count);
	size_t i = rangemap_first(&all, plt->vaddr);

	while (i < symbols->count && symbols->wanted[i] - plt->vaddr < plt->size) {
		uint64_t end = offer_stub(slots, plt, symbols->wanted[i], names, symbols);
		size_t next = rangemap_first(&all, end);

		i = next > i ? next : i + 1; /* the end of a broken section may wrap */
	}
}

int plt_offer(const struct elf_image *image, const struct plt_tables *tables, struct strtab *names,
	      struct symbols *symbols)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct slots slots;
	bool is_ready = false;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(sections); i++) {
		struct elf_section plt;

		if (!elf_find_section(image, sections[i], &plt) ||
		    !elf_section_bytes(image, &plt) || !is_wanted(symbols, &plt))
			continue;
		if (!is_ready)
			rc = slots_init(&slots, image, tables);
		is_ready = true;
		if (rc == 0)
			offer_stubs(&slots, &plt, names, symbols);
	}
	if (is_ready)
		slots_fini(&slots);
	return rc;
}
