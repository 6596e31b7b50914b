/* SPDX-License-Identifier: MIT */
#include "symbol/elf/symtab.h"

#include <string.h>

#include "base/cursor.h"

/* One symbol table with its strings. */
struct table {
	const unsigned char *rows; /* [count] of row_size bytes */
	uint64_t count;
	size_t row_size;
	const char *strings; /* [0..strings_len), the last one is NUL */
	uint64_t strings_len;
	uint32_t section; /* what is known of the section asked for last; 0: none asked for */
	bool is_code;
	uint64_t section_end;
};

/* A row as it is in the file. */
struct row {
	uint32_t name, section;
	unsigned char info;
	uint64_t value, size;
};

size_t symbol_name_length(const char *name)
{
	const char *at = name[0] ? strchr(name + 1, '@') : NULL;

	return at && strcmp(at, "@plt") != 0 ? (size_t)(at - name) : strlen(name);
}

/* Without strings, or with ones that do not end, a table is of no use. */
static bool open_table(const struct elf_image *image, const struct elf_section *s,
		       struct table *ret)
{
	struct elf_section strings;
	const unsigned char *text;

	if (s->link >= image->shnum)
		return false;
	strings = elf_get_section(image, s->link);
	text = elf_section_bytes(image, &strings);
	*ret = (struct table){ .rows = elf_section_bytes(image, s) };
	if (!text || !ret->rows)
		return false;
	while (strings.size && text[strings.size - 1] != '\0')
		strings.size--;
	ret->row_size = image->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	ret->count = s->size / ret->row_size;
	ret->strings = (const char *)text;
	ret->strings_len = strings.size;
	return strings.size > 0;
}

static bool find_table(const struct elf_image *image, uint32_t type, struct table *ret)
{
	for (uint32_t i = 0; i < image->shnum; i++) {
		struct elf_section s = elf_get_section(image, i);

		if (s.type == type && open_table(image, &s, ret))
			return true;
	}
	return false;
}

static struct row get_row(const struct table *t, uint64_t index)
{
	const unsigned char *at = t->rows + index * t->row_size;
	Elf64_Sym s;
	Elf32_Sym small;

	if (t->row_size == sizeof s) {
		memcpy(&s, at, sizeof s);
		return (struct row){ s.st_name, s.st_shndx, s.st_info, s.st_value, s.st_size };
	}
	memcpy(&small, at, sizeof small);
	return (struct row){ small.st_name, small.st_shndx, small.st_info, small.st_value,
			     small.st_size };
}

/* "" when there is none. */
static const char *row_name(const struct table *t, const struct row *row)
{
	return row->name < t->strings_len ? t->strings + row->name : "";
}

static enum symbol_rank rank_of(unsigned char info)
{
	if (ELF64_ST_TYPE(info) == STT_NOTYPE)
		return SYMBOL_UNTYPED;
	switch (ELF64_ST_BIND(info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return SYMBOL_GLOBAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_LOCAL;
	}
}

/* Labels that assemblers make for themselves: ".L1"; "$x" and "$d.3" of aarch64. */
static bool is_internal(const char *name)
{
	if (name[0] == '$' && name[1] && (name[2] == '\0' || name[2] == '.'))
		return true;
	return name[0] == '\0' || strncmp(name, ".L", 2) == 0;
}

static bool is_code_section(const struct elf_image *image, struct table *t, uint32_t index,
			    uint64_t *ret_end)
{
	struct elf_section s;

	if (index == 0 || index >= image->shnum)
		return false;
	if (index != t->section) {
		s = elf_get_section(image, index);
		t->section = index;
		t->is_code = (s.flags & SHF_EXECINSTR) != 0;
		t->section_end = s.vaddr + s.size;
	}
	*ret_end = t->section_end;
	return t->is_code;
}

/* Functions, and labels in code. */
static bool read_symbol(const struct elf_image *image, struct table *t, uint64_t index,
			struct symbol *ret)
{
	struct row row = get_row(t, index);
	unsigned type = ELF64_ST_TYPE(row.info);
	bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	uint64_t section_end = UINT64_MAX;

	if (row.section == SHN_UNDEF || (!is_function && type != STT_NOTYPE))
		return false;
	/* Functions may also be absolute, or in a section whose index exceeds 16 bits. */
	if (!is_code_section(image, t, row.section, &section_end) &&
	    (!is_function || row.section < SHN_LORESERVE))
		return false;
	*ret = (struct symbol){ .start = row.value,
				.end = row.size ? row.value + row.size : section_end,
				.name = row_name(t, &row),
				.rank = rank_of(row.info),
				.is_sized = row.size != 0 };
	return ret->end > ret->start && !is_internal(ret->name);
}

bool symtab_offer(const struct elf_image *image, uint32_t type, struct symbols *symbols)
{
	struct table t;
	struct symbol symbol;

	if (!find_table(image, type, &t))
		return false;
	for (uint64_t i = 1; i < t.count; i++)
		if (read_symbol(image, &t, i, &symbol))
			symbols_offer(symbols, &symbol);
	return true;
}

const char *symtab_name(const struct elf_image *image, uint32_t section, uint32_t index)
{
	struct elf_section s;
	struct table t;
	struct row row;

	if (section >= image->shnum)
		return NULL;
	s = elf_get_section(image, section);
	if ((s.type != SHT_DYNSYM && s.type != SHT_SYMTAB) || !open_table(image, &s, &t) ||
	    index >= t.count)
		return NULL;
	row = get_row(&t, index);
	return row_name(&t, &row)[0] ? row_name(&t, &row) : NULL;
}
