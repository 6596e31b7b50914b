/* SPDX-License-Identifier: MIT */
#include "preload/heap/loaded.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

/* The dynamic linker changes addresses in some modules' dynamic sections, and not in others'. */
static const void *address_of(const struct module *m, uint64_t value)
{
	return (const void *)(uintptr_t)(value < m->base ? value + m->base : value);
}

/* One more than the largest number in the chains, which go on from the start of each bucket. */
static uint64_t count_gnu(const uint32_t *table)
{
	uint32_t buckets = table[0], first = table[1], words = table[2], last = 0;
	const uint32_t *bucket = table + 4 + (size_t)words * 2, *chain = bucket + buckets;

	for (uint32_t i = 0; i < buckets; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return (uint64_t)last + 1;
}

static void take_segments(struct module *m, const struct dl_phdr_info *info, const Elf64_Dyn **ret)
{
	uint64_t page = getauxval(AT_PAGESZ);

	m->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uint64_t at = m->base + p->p_vaddr;

		if (p->p_type == PT_DYNAMIC)
			*ret = (const void *)(uintptr_t)at;
		if (p->p_type == PT_LOAD && at < m->start)
			m->start = at;
		if (p->p_type == PT_LOAD && at + p->p_memsz > m->end)
			m->end = at + p->p_memsz;
		if (p->p_type == PT_GNU_RELRO) {
			m->relro_start = at & ~(page - 1);
			m->relro_end = (at + p->p_memsz) & ~(page - 1);
		}
	}
}

static void take_entry(struct module *m, const Elf64_Dyn *d)
{
	switch (d->d_tag) {
	case DT_SYMTAB:
		m->symbols = address_of(m, d->d_un.d_ptr);
		break;
	case DT_STRTAB:
		m->strings = address_of(m, d->d_un.d_ptr);
		break;
	case DT_RELA:
		m->data = address_of(m, d->d_un.d_ptr);
		break;
	case DT_RELASZ:
		m->data_count = d->d_un.d_val / sizeof(Elf64_Rela);
		break;
	case DT_JMPREL:
		m->calls = address_of(m, d->d_un.d_ptr);
		break;
	case DT_PLTRELSZ:
		m->call_count = d->d_un.d_val / sizeof(Elf64_Rela);
		break;
	case DT_GNU_HASH:
		m->symbol_count = count_gnu(address_of(m, d->d_un.d_ptr));
		break;
	case DT_HASH:
		if (!m->symbol_count)
			m->symbol_count = ((const uint32_t *)address_of(m, d->d_un.d_ptr))[1];
		break;
	default:
		break;
	}
}

/* false: it has nothing to look at, as the vdso. */
static bool describe(const struct dl_phdr_info *info, struct module *ret)
{
	const Elf64_Dyn *dynamic = NULL;
	uint64_t own = (uintptr_t)loaded_each;

	*ret = (struct module){ .name = info->dlpi_name ? info->dlpi_name : "",
				.base = info->dlpi_addr };
	take_segments(ret, info, &dynamic);
	/* The vdso's addresses are those of its file, and it has no relocations. */
	if (!dynamic || getauxval(AT_SYSINFO_EHDR) == ret->start)
		return false;
	for (; dynamic->d_tag != DT_NULL; dynamic++)
		take_entry(ret, dynamic);
	ret->is_own = own >= ret->start && own < ret->end;
	if (!ret->data)
		ret->data_count = 0;
	if (!ret->calls)
		ret->call_count = 0;
	return ret->symbols && ret->strings;
}

struct seen {
	bool (*see)(const struct module *m, void *context);
	void *context;
};

static int see_module(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct seen *s = context;
	struct module m;

	(void)size;
	return describe(info, &m) && !s->see(&m, s->context);
}

void loaded_each(bool (*see)(const struct module *m, void *context), void *context)
{
	struct seen s = { see, context };

	dl_iterate_phdr(see_module, &s);
}

static int take_count(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_adds;
	return 1;
}

uint64_t loaded_count(void)
{
	uint64_t count = 0;

	dl_iterate_phdr(take_count, &count);
	return count;
}

struct wanted {
	const char *name;
	uint64_t address;
	uint32_t count;
};

static uint64_t find_in(const struct module *m, const char *name)
{
	for (uint64_t i = 1; i < m->symbol_count; i++) {
		const Elf64_Sym *s = &m->symbols[i];

		if (s->st_shndx != SHN_UNDEF && s->st_value &&
		    ELF64_ST_TYPE(s->st_info) == STT_FUNC && m->strings[s->st_name] == name[0] &&
		    strcmp(m->strings + s->st_name, name) == 0)
			return m->base + s->st_value;
	}
	return 0;
}

/* Older ones of the dynamic linker have a malloc of their own, which the program's replaces. */
static bool is_loader(const struct module *m)
{
	const char *slash = strrchr(m->name, '/');

	return slash && strncmp(slash, "/ld-", 4) == 0;
}

static bool find_wanted(const struct module *m, void *context)
{
	struct wanted *w = context;
	uint64_t address = m->is_own || is_loader(m) ? 0 : find_in(m, w->name);

	if (!address)
		return true;
	if (w->count++ == 0)
		w->address = address;
	return w->count < 2;
}

uint64_t loaded_find(const char *name, bool *ret_others)
{
	struct wanted w = { .name = name };

	loaded_each(find_wanted, &w);
	*ret_others = w.count > 1;
	return w.address;
}

static bool find_first(const struct module *m, void *context)
{
	*(bool *)context = !m->is_own && !is_loader(m) && find_in(m, "malloc") != 0;
	return !m->is_own && !*(bool *)context;
}

bool loaded_is_late(void)
{
	bool is_late = false;

	loaded_each(find_first, &is_late);
	return is_late;
}
