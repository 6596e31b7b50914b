/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/dwarf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbol/dwarf/abbrev.h"
#include "symbol/dwarf/lines.h"
#include "symbol/dwarf/ranges.h"
#include "symbol/dwarf/split.h"
#include "symbol/dwarf/unit.h"

#define BUDGET_TIMES 16                  /* how often all bytes may be read */
#define BUDGET_MORE (UINT64_C(64) << 20) /* bytes; for small files with much sharing */

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
	struct unpacked *u = &d->sections[section];
	char name[32];

	if (!d->is_loaded[section]) {
		d->is_loaded[section] = true;
		snprintf(name, sizeof name, "%s%s", section_names[section],
			 d->is_dwo ? ".dwo" : "");
		if (unpack_section(d->image, name, u) < 0)
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

static int read_units(struct dwarf *d)
{
	struct buf units = { 0 };
	struct dwarf_unit u;
	uint64_t offset = 0;
	int rc;

	while ((rc = dwarf_read_unit(d, &offset, NULL, &u)) >= 0)
		if (rc > 0)
			buf_put(&units, &u, sizeof u);
	d->unit_count = units.len / sizeof *d->units;
	d->units = (void *)units.data;
	return buf_error(&units) < 0 || d->bad ? -ENOMEM : 0;
}

int dwarf_open(struct dwarf *d, const struct elf_image *image, const char *path,
	       uint64_t min_address)
{
	*d = (struct dwarf){
		.image = image, .path = path, .min_address = min_address, .budget = BUDGET_MORE
	};
	return read_units(d);
}

void dwarf_open_dwo(struct dwarf *d, const struct elf_image *image, uint64_t min_address)
{
	*d = (struct dwarf){ .image = image,
			     .is_dwo = true,
			     .path = "",
			     .min_address = min_address,
			     .budget = BUDGET_MORE };
}

void dwarf_close(struct dwarf *d)
{
	struct dwarf_abbrevs **abbrevs = (void *)d->abbrevs.data;

	for (size_t i = 0; i < d->unit_count; i++)
		dwarf_files_free(d->units[i].files);
	free(d->units);
	dwarf_package_free(d->package);
	for (size_t i = 0; i < d->abbrevs.len / sizeof *abbrevs; i++)
		dwarf_abbrevs_free(abbrevs[i]);
	buf_fini(&d->abbrevs);
	map_fini(&d->tables);
	for (size_t i = 0; i < DWARF_SECTION_COUNT; i++)
		unpacked_fini(&d->sections[i]);
	*d = (struct dwarf){ 0 };
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

void dwarf_cover_units(struct dwarf *d, struct cover *c)
{
	for (size_t i = 0; i < d->unit_count; i++) {
		const struct dwarf_unit *u = &d->units[i];
		struct dwarf_code code = { u->root_low, u->root_high, u->root_ranges };

		dwarf_cover(u, &code, c, (uint32_t)i);
	}
}
