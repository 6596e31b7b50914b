/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/dwarf_abbrev.h"
#include "symbol/dwarf_form.h"
#include "symbol/dwarf_lines.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_ranges.h"

#define BUDGET_TIMES 16                  /* how often all bytes may be read */
#define BUDGET_MORE (UINT64_C(64) << 20) /* bytes; for small files with much sharing */

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

	if (!d->is_loaded[section]) {
		d->is_loaded[section] = true;
		if (unpack_section(d->image, section_names[section], u) < 0)
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

/* The header's fields behind the length. c ends with the unit. false: nothing we can read. */
static bool read_header(struct dwarf_unit *u, struct cursor *c)
{
	unsigned type = UNIT_COMPILE;

	u->version = cursor_u16(c);
	if (u->version < 2 || u->version > 5)
		return false;
	if (u->version >= 5) {
		type = cursor_u8(c);
		u->address_size = cursor_u8(c);
		u->abbrev_offset = form_read_offset(u, c);
	} else {
		u->abbrev_offset = form_read_offset(u, c);
		u->address_size = cursor_u8(c);
	}
	if (type == UNIT_SKELETON || type == UNIT_SPLIT_COMPILE)
		cursor_skip(c, 8); /* the id that both parts have */
	/* Type units have no code. */
	return !c->bad && (u->address_size == 4 || u->address_size == 8) && type != UNIT_TYPE &&
	       type != UNIT_SPLIT_TYPE;
}

static void keep_root_value(struct dwarf_unit *u, unsigned name, struct dwarf_value v)
{
	switch (name) {
	case AT_NAME:
		u->name = v;
		break;
	case AT_COMP_DIR:
		u->comp_dir = v;
		break;
	case AT_STMT_LIST:
		u->has_lines = value_offset(v, &u->line_offset);
		break;
	case AT_LOW_PC:
		u->root_low = v;
		break;
	case AT_HIGH_PC:
		u->root_high = v;
		break;
	case AT_RANGES:
		u->root_ranges = v;
		break;
	case AT_STR_OFFSETS_BASE:
		value_offset(v, &u->str_offsets_base);
		break;
	case AT_ADDR_BASE:
	case AT_GNU_ADDR_BASE:
		value_offset(v, &u->addr_base);
		break;
	case AT_RNGLISTS_BASE:
		value_offset(v, &u->rnglists_base);
		break;
	default:
		break;
	}
}

/* The first entry of the unit, which says where its strings, addresses and code are. */
static void read_root(struct dwarf_unit *u, struct cursor *c)
{
	struct abbrev_attr attr;
	struct cursor shape;
	unsigned tag;

	u->str_offsets_base = u->version >= 5 ? u->offset_size * 2 : 0; /* behind the header */
	if (!abbrev_seek(u->dwarf, u->abbrev_offset, cursor_uleb(c), &tag, &shape))
		return;
	while (!c->bad && abbrev_next_attr(&shape, &attr))
		keep_root_value(u, attr.name, form_read(u, c, attr.form, attr.implicit));
	value_address(u, u->root_low, &u->low_pc);
}

static int read_units(struct dwarf *d)
{
	struct cursor c = dwarf_bytes(d, DWARF_INFO);
	const unsigned char *begin = c.at;
	struct buf units = { 0 };

	while (cursor_left(&c) > 4) {
		struct dwarf_unit u = { .dwarf = d, .offset_size = 4 };
		uint64_t len;
		struct cursor sub;

		u.offset = (uint64_t)(c.at - begin);
		len = cursor_u32(&c);
		if (len == UINT32_MAX) {
			len = cursor_u64(&c);
			u.offset_size = 8;
		}
		if (len > cursor_left(&c))
			len = cursor_left(&c); /* cut short: what is there may still be read */
		sub = cursor_sub(&c, len);
		u.end = (uint64_t)(c.at - begin);
		if (!read_header(&u, &sub))
			continue;
		u.root = (uint64_t)(sub.at - begin);
		read_root(&u, &sub);
		buf_put(&units, &u, sizeof u);
	}
	d->unit_count = units.len / sizeof *d->units;
	d->units = (void *)units.data;
	return buf_error(&units) < 0 || d->bad ? -ENOMEM : 0;
}

int dwarf_open(struct dwarf *d, const struct elf_image *image, uint64_t min_address)
{
	*d = (struct dwarf){ .image = image, .min_address = min_address, .budget = BUDGET_MORE };
	return read_units(d);
}

void dwarf_close(struct dwarf *d)
{
	struct dwarf_abbrevs **abbrevs = (void *)d->abbrevs.data;

	for (size_t i = 0; i < d->unit_count; i++)
		dwarf_files_free(d->units[i].files);
	free(d->units);
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
