/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/unit.h"

#include "symbol/dwarf/abbrev.h"
#include "symbol/dwarf/form.h"
#include "symbol/dwarf/names.h"

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
		u->split_id = cursor_u64(c);
	/* Type units have no code. */
	return !c->bad && (u->address_size == 4 || u->address_size == 8) && type != UNIT_TYPE &&
	       type != UNIT_SPLIT_TYPE;
}

/* Fortran's contained procedures and GNU C's nested functions are within others. */
static bool is_flat_language(uint64_t language)
{
	switch (language) {
	case LANG_C_PLUS_PLUS:
	case LANG_C_PLUS_PLUS_11:
	case LANG_C_PLUS_PLUS_14:
	case LANG_C_PLUS_PLUS_17:
	case LANG_C_PLUS_PLUS_20:
	case LANG_RUST:
		return true;
	default:
		return false;
	}
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
	case AT_LANGUAGE:
		u->is_flat = v.kind == VALUE_UINT && is_flat_language(v.u);
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
	case AT_GNU_RANGES_BASE:
		value_offset(v, &u->ranges_base);
		break;
	case AT_DWO_NAME:
	case AT_GNU_DWO_NAME:
		u->split_name = v;
		break;
	case AT_GNU_DWO_ID:
		value_offset(v, &u->split_id);
		break;
	default:
		break;
	}
}

/* The first entry of the unit, which has the places of its strings, addresses and code. */
static void read_root(struct dwarf_unit *u, struct cursor *c)
{
	struct abbrev_attr attr;
	struct cursor shape;
	unsigned tag;

	if (!abbrev_seek(u->dwarf, u->abbrev_offset, cursor_uleb(c), &tag, &shape))
		return;
	while (!c->bad && abbrev_next_attr(&shape, &attr))
		keep_root_value(u, attr.name, form_read(u, c, attr.form, attr.implicit));
	value_address(u, u->root_low, &u->low_pc);
}

/* The default bases of tables, behind their headers (version 5), if the root has none. */
static void choose_bases(struct dwarf_unit *u, const struct dwarf_parts *parts)
{
	if (u->version >= 5) {
		u->str_offsets_base = u->offset_size * 2U;
		u->rnglists_base = u->dwarf->is_dwo ? u->offset_size * 2U + 4U : 0;
	}
	if (!parts)
		return;
	u->abbrev_offset += parts->abbrev;
	u->str_offsets_base += parts->str_offsets;
	u->rnglists_base += parts->rnglists;
}

int dwarf_read_unit(struct dwarf *d, uint64_t *offset, const struct dwarf_parts *parts,
		    struct dwarf_unit *ret)
{
	struct dwarf_unit u = { .dwarf = d, .offset = *offset, .offset_size = 4 };
	struct cursor c = dwarf_bytes_at(d, DWARF_INFO, *offset), sub;
	const unsigned char *begin = c.at;
	uint64_t len = cursor_u32(&c);

	if (len == UINT32_MAX) {
		len = cursor_u64(&c);
		u.offset_size = 8;
	}
	if (c.bad)
		return -1;
	if (len > cursor_left(&c))
		len = cursor_left(&c); /* cut short: what is there may still be read */
	sub = cursor_sub(&c, len);
	*offset += (uint64_t)(c.at - begin);
	u.end = *offset;
	if (!read_header(&u, &sub))
		return 0;
	u.root = u.offset + (uint64_t)(sub.at - begin);
	choose_bases(&u, parts);
	read_root(&u, &sub);
	*ret = u;
	return 1;
}
