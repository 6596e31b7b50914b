/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/ranges.h"

#include "symbol/dwarf/form.h"
#include "symbol/dwarf/names.h"

/* A list while it is read. */
struct list {
	const struct dwarf_unit *unit;
	struct cursor c;
	uint64_t base; /* what offsets count from */
	struct rangemap *map;
	uint32_t value;
	bool is_wanted;
};

static void add_range(struct list *l, uint64_t low, uint64_t high)
{
	/* What the linker dropped starts at 0 (or 1, or below all code). */
	if (low < high && low >= l->unit->dwarf->min_address && low != 0 &&
	    rangemap_add(l->map, low, high, l->value))
		l->is_wanted = true;
}

/* Of .debug_ranges: pairs of addresses up to 0, 0. */
static void read_pairs(struct list *l)
{
	const struct dwarf_unit *u = l->unit;
	uint64_t max = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;

	while (!l->c.bad && dwarf_spend(u->dwarf, 2 * u->address_size)) {
		uint64_t low = form_read_address(u, &l->c);
		uint64_t high = form_read_address(u, &l->c);

		if (l->c.bad || (low == 0 && high == 0))
			return;
		if (low == max)
			l->base = high;
		else
			add_range(l, l->base + low, l->base + high);
	}
}

static uint64_t read_addrx(struct list *l)
{
	struct dwarf_value v = { .kind = VALUE_ADDRX, .u = cursor_uleb(&l->c) };
	uint64_t address = 0;

	if (!value_address(l->unit, v, &address))
		l->c.bad = true;
	return address;
}

/* One entry of .debug_rnglists; false at its end. */
static bool read_entry(struct list *l)
{
	unsigned kind = cursor_u8(&l->c);
	uint64_t low = 0, high = 0;

	switch (kind) {
	case RLE_BASE_ADDRESSX:
		l->base = read_addrx(l);
		return true;
	case RLE_BASE_ADDRESS:
		l->base = form_read_address(l->unit, &l->c);
		return true;
	case RLE_STARTX_ENDX:
		low = read_addrx(l);
		high = read_addrx(l);
		break;
	case RLE_STARTX_LENGTH:
		low = read_addrx(l);
		high = low + cursor_uleb(&l->c);
		break;
	case RLE_OFFSET_PAIR:
		low = l->base + cursor_uleb(&l->c);
		high = l->base + cursor_uleb(&l->c);
		break;
	case RLE_START_END:
		low = form_read_address(l->unit, &l->c);
		high = form_read_address(l->unit, &l->c);
		break;
	case RLE_START_LENGTH:
		low = form_read_address(l->unit, &l->c);
		high = low + cursor_uleb(&l->c);
		break;
	default:
		return false;
	}
	if (!l->c.bad)
		add_range(l, low, high);
	return true;
}

static void read_entries(struct list *l)
{
	const unsigned char *at = l->c.at;

	while (!l->c.bad && read_entry(l)) {
		if (!dwarf_spend(l->unit->dwarf, (uint64_t)(l->c.at - at)))
			return;
		at = l->c.at;
	}
}

/* Where list number index is: an offset behind the header's table, from rnglists_base. */
static uint64_t list_offset(const struct dwarf_unit *u, uint64_t index)
{
	uint64_t at;
	struct cursor c;

	if (__builtin_mul_overflow(index, u->offset_size, &at) ||
	    __builtin_add_overflow(at, u->rnglists_base, &at))
		return UINT64_MAX;
	c = dwarf_bytes_at(u->dwarf, DWARF_RNGLISTS, at);
	at = form_read_offset(u, &c);
	return c.bad ? UINT64_MAX : at + u->rnglists_base;
}

static void read_list(struct list *l, struct dwarf_value ranges)
{
	const struct dwarf_unit *u = l->unit;
	uint64_t offset;

	if (ranges.kind == VALUE_LIST)
		offset = list_offset(u, ranges.u);
	else if (!value_offset(ranges, &offset))
		return;
	if (u->version >= 5)
		l->c = dwarf_bytes_at(u->dwarf, DWARF_RNGLISTS, offset);
	else
		l->c = dwarf_bytes_at(dwarf_home(u)->dwarf, DWARF_RANGES,
				      offset + (u->skeleton ? u->ranges_base : 0));
	if (u->version >= 5)
		read_entries(l);
	else
		read_pairs(l);
}

bool dwarf_add_code(const struct dwarf_unit *u, const struct dwarf_code *code, struct rangemap *c,
		    uint32_t value)
{
	struct list l = { .unit = u, .base = u->low_pc, .map = c, .value = value };
	uint64_t low, high;

	if (code->ranges.kind != VALUE_NONE) {
		read_list(&l, code->ranges);
		return l.is_wanted;
	}
	if (!value_address(u, code->low_pc, &low))
		return false;
	if (!value_address(u, code->high_pc, &high)) {
		if (code->high_pc.kind != VALUE_UINT ||
		    __builtin_add_overflow(low, code->high_pc.u, &high))
			return false;
	}
	add_range(&l, low, high);
	return l.is_wanted;
}
