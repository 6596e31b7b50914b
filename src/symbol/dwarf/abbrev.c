/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/abbrev.h"

#include <stdlib.h>

#include "symbol/dwarf/form.h"
#include "symbol/dwarf/names.h"

bool abbrev_next_attr(struct cursor *c, struct abbrev_attr *ret)
{
	uint64_t name = cursor_uleb(c), form = cursor_uleb(c);

	*ret = (struct abbrev_attr){ 0 };
	if (c->bad || (name == 0 && form == 0))
		return false;
	/* Numbers beyond 16 bits are not assigned; 0 is an unknown form, which ends the unit. */
	ret->name = name <= UINT16_MAX ? (uint16_t)name : 0;
	ret->form = form <= UINT16_MAX ? (uint16_t)form : 0;
	if (form == FORM_IMPLICIT_CONST)
		ret->implicit = cursor_sleb(c);
	return true;
}

bool abbrev_seek(struct dwarf *d, uint64_t offset, uint64_t code, unsigned *ret_tag,
		 struct cursor *ret)
{
	struct cursor c = dwarf_bytes_at(d, DWARF_ABBREV, offset);
	const unsigned char *begin = c.at;
	struct abbrev_attr attr;

	/* Each shape costs at once, so that nothing is read once the budget is spent. */
	while (!c.bad && dwarf_spend(d, (uint64_t)(c.at - begin) + 1)) {
		uint64_t at, tag;

		begin = c.at;
		at = cursor_uleb(&c);
		tag = cursor_uleb(&c);
		cursor_u8(&c); /* has children */
		if (at == 0 || at == code) {
			*ret_tag = (unsigned)tag;
			*ret = c;
			return at == code && !c.bad;
		}
		while (abbrev_next_attr(&c, &attr))
			;
	}
	return false;
}

/* What the walk over a unit wants to know of its entries. */
static bool is_kept(unsigned tag, unsigned attribute)
{
	if (attribute == AT_SIBLING)
		return true;
	if (tag != TAG_SUBPROGRAM && tag != TAG_INLINED_SUBROUTINE)
		return false;
	return attribute == AT_LOW_PC || attribute == AT_HIGH_PC || attribute == AT_RANGES;
}

static void add_attrs(struct dwarf_abbrevs *a, const struct dwarf_unit *u, struct cursor *c,
		      struct abbrev *abbrev)
{
	struct abbrev_attr attr;
	uint32_t skip = 0;

	abbrev->first_attr = (uint32_t)(a->attrs.len / sizeof attr);
	abbrev->first_step = (uint32_t)(a->steps.len / sizeof(struct abbrev_step));
	while (abbrev_next_attr(c, &attr)) {
		struct abbrev_step step = { skip, abbrev->attr_count };
		int size = form_size(u, attr.form);

		buf_put(&a->attrs, &attr, sizeof attr);
		abbrev->attr_count++;
		if (size >= 0 && !is_kept(abbrev->tag, attr.name)) {
			skip += (uint32_t)size;
			continue;
		}
		buf_put(&a->steps, &step, sizeof step);
		abbrev->step_count++;
		skip = 0;
	}
	abbrev->tail = skip;
}

static void read_all(struct dwarf_abbrevs *a, const struct dwarf_unit *u)
{
	struct cursor c = dwarf_bytes_at(u->dwarf, DWARF_ABBREV, u->abbrev_offset);
	const unsigned char *begin = c.at;

	while (!c.bad && !u->dwarf->bad) {
		struct abbrev abbrev = { 0 };
		uint64_t code = cursor_uleb(&c);
		uint32_t index = (uint32_t)(a->list.len / sizeof abbrev);

		if (code == 0 || !dwarf_spend(u->dwarf, (uint64_t)(c.at - begin)))
			break;
		begin = c.at;
		abbrev.tag = (uint16_t)cursor_uleb(&c);
		abbrev.has_children = cursor_u8(&c);
		add_attrs(a, u, &c, &abbrev);
		if (code == a->dense + 1 && a->dense == index)
			a->dense++;
		else if (map_put(&a->others, code, index) < 0)
			u->dwarf->bad = true;
		buf_put(&a->list, &abbrev, sizeof abbrev);
	}
	if (buf_error(&a->list) < 0 || buf_error(&a->attrs) < 0 || buf_error(&a->steps) < 0)
		u->dwarf->bad = true;
}

/* Takes up a new table into the file's list. */
static struct dwarf_abbrevs *add_table(struct dwarf *d, uint32_t *slot)
{
	struct dwarf_abbrevs *a = calloc(1, sizeof *a);

	*slot = (uint32_t)(d->abbrevs.len / sizeof a);
	if (a)
		buf_put(&d->abbrevs, &a, sizeof a);
	if (!a || buf_error(&d->abbrevs) < 0) {
		free(a);
		d->bad = true;
		return NULL;
	}
	return a;
}

const struct dwarf_abbrevs *dwarf_unit_abbrevs(const struct dwarf_unit *u)
{
	struct dwarf *d = u->dwarf;
	/* What the sizes of values depend on. */
	uint64_t sizes = u->address_size / 4U + u->offset_size / 4U * 4U;
	uint64_t key = u->abbrev_offset << 5 | (u->version == 2 ? 16U : 0U) | sizes;
	uint32_t *slot = d->bad ? NULL : map_at(&d->tables, key);
	struct dwarf_abbrevs *a;

	if (!slot) {
		d->bad = true;
		return NULL;
	}
	if (*slot != MAP_NONE)
		return ((struct dwarf_abbrevs *const *)(const void *)d->abbrevs.data)[*slot];
	a = add_table(d, slot);
	if (a)
		read_all(a, u);
	return d->bad ? NULL : a;
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *a)
{
	if (!a)
		return;
	buf_fini(&a->list);
	buf_fini(&a->attrs);
	buf_fini(&a->steps);
	map_fini(&a->others);
	free(a);
}

const struct abbrev *abbrev_find(const struct dwarf_abbrevs *a, uint64_t code)
{
	const struct abbrev *list = (const void *)a->list.data;
	uint32_t index;

	if (code - 1 < a->dense)
		return &list[code - 1];
	index = map_get(&a->others, code);
	return index == MAP_NONE ? NULL : &list[index];
}
