/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/sections.h"

#include <stdio.h>

#define BUDGET_TIMES 16 /* how often all bytes may be read */

/* In the files of split DWARF ".dwo" follows. */
static const char *const section_names[DWARF_SECTION_COUNT] = {
	[DWARF_INFO] = ".debug_info",
	[DWARF_ABBREV] = ".debug_abbrev",
	[DWARF_ADDR] = ".debug_addr",
	[DWARF_LINE] = ".debug_line",
	[DWARF_LINE_STR] = ".debug_line_str",
	[DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists",
	[DWARF_STR] = ".debug_str",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
};

bool dwarf_is_in(const struct elf_image *image)
{
	struct elf_section s;

	return (elf_find_section(image, section_names[DWARF_INFO], &s) ||
		elf_find_section(image, ".zdebug_info", &s)) &&
	       s.type != SHT_NOBITS;
}

struct cursor dwarf_bytes(struct dwarf *d, enum dwarf_section section)
{
	struct section_bytes *u = &d->sections[section];
	char name[32];

	if (!d->is_loaded[section]) {
		d->is_loaded[section] = true;
		snprintf(name, sizeof name, "%s%s", section_names[section],
			 d->is_dwo ? ".dwo" : "");
		if (decompress_section(d->image, name, u) < 0)
			d->bad = true;
		d->budget += u->len * BUDGET_TIMES;
	}
	return cursor_make(u->data, u->len);
}

struct cursor dwarf_bytes_at(struct dwarf *d, enum dwarf_section section, uint64_t offset)
{
	struct cursor c = dwarf_bytes(d, section);

	cursor_skip(&c, offset);
	return c;
}

bool dwarf_spend(struct dwarf *d, uint64_t bytes)
{
	bool is_enough = bytes <= d->budget;

	d->budget = is_enough ? d->budget - bytes : 0;
	return is_enough;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf *d, uint64_t offset)
{
	size_t low = 0, high = d->unit_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->units[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || offset >= d->units[low - 1].end)
		return NULL;
	return &d->units[low - 1];
}
