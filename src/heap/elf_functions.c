/* SPDX-License-Identifier: MIT */
#include "heap/elf_functions.h"

#include <string.h>

#include "base/macros.h"

/* Text that ends with a NUL, at an offset of a section. */
static struct str text_at(const unsigned char *bytes, uint64_t size, uint32_t offset)
{
	if (offset >= size)
		return (struct str){ "", 0 };
	return (struct str){ (const char *)bytes + offset,
			     strnlen((const char *)bytes + offset, size - offset) };
}

/* false: visit wants no more. */
static bool visit_section(const struct elf_image *image, const char *section,
			  bool (*visit)(const Elf64_Sym *symbol, struct str name, void *context),
			  void *context)
{
	struct elf_section symbols, strings;
	const unsigned char *table, *text;

	if (!elf_find_section(image, section, &symbols) || symbols.link >= image->shnum)
		return true;
	strings = elf_get_section(image, symbols.link);
	table = elf_section_bytes(image, &symbols);
	text = elf_section_bytes(image, &strings);
	if (!table || !text)
		return true;
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, table + at, sizeof symbol);
		if (!visit(&symbol, text_at(text, strings.size, symbol.st_name), context))
			return false;
	}
	return true;
}

void elf_symbols_each(const struct elf_image *image,
		      bool (*visit)(const Elf64_Sym *symbol, struct str name, void *context),
		      void *context)
{
	static const char *const sections[] = { ".dynsym", ".symtab" };

	for (size_t i = 0; image->is_64 && i < ARRAY_LEN(sections); i++)
		if (!visit_section(image, sections[i], visit, context))
			return;
}

struct wanted {
	const char *name;
	uint64_t vaddr;
};

static bool find(const Elf64_Sym *symbol, struct str name, void *context)
{
	struct wanted *w = context;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	    str_equals(name, w->name))
		w->vaddr = symbol->st_value;
	return !w->vaddr;
}

uint64_t elf_function_find(const struct elf_image *image, const char *name)
{
	struct wanted w = { .name = name };

	elf_symbols_each(image, find, &w);
	return w.vaddr;
}
