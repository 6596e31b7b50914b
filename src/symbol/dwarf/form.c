/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/form.h"

#include <string.h>

#include "symbol/dwarf/names.h"

int form_size(const struct dwarf_unit *u, unsigned form)
{
	switch (form) {
	case FORM_FLAG_PRESENT:
	case FORM_IMPLICIT_CONST:
		return 0;
	case FORM_DATA1:
	case FORM_FLAG:
	case FORM_REF1:
	case FORM_STRX1:
	case FORM_ADDRX1:
		return 1;
	case FORM_DATA2:
	case FORM_REF2:
	case FORM_STRX2:
	case FORM_ADDRX2:
		return 2;
	case FORM_STRX3:
	case FORM_ADDRX3:
		return 3;
	case FORM_DATA4:
	case FORM_REF4:
	case FORM_REF_SUP4:
	case FORM_STRX4:
	case FORM_ADDRX4:
		return 4;
	case FORM_DATA8:
	case FORM_REF8:
	case FORM_REF_SUP8:
	case FORM_REF_SIG8:
		return 8;
	case FORM_DATA16:
		return 16;
	case FORM_ADDR:
		return u->address_size;
	case FORM_REF_ADDR:
		return u->version == 2 ? u->address_size : u->offset_size;
	case FORM_SEC_OFFSET:
	case FORM_STRP:
	case FORM_LINE_STRP:
	case FORM_STRP_SUP:
	case FORM_GNU_STRP_ALT:
	case FORM_GNU_REF_ALT:
		return u->offset_size;
	default:
		return -1;
	}
}

/* Which kind of value a form of fixed size holds. */
static enum dwarf_value_kind fixed_kind(unsigned form)
{
	switch (form) {
	case FORM_ADDR:
		return VALUE_ADDRESS;
	case FORM_REF1:
	case FORM_REF2:
	case FORM_REF4:
	case FORM_REF8:
	case FORM_REF_ADDR:
		return VALUE_REF;
	case FORM_REF_SUP4:
	case FORM_REF_SUP8:
	case FORM_GNU_REF_ALT:
		return VALUE_ALT_REF;
	case FORM_STRX1:
	case FORM_STRX2:
	case FORM_STRX3:
	case FORM_STRX4:
		return VALUE_STRX;
	case FORM_ADDRX1:
	case FORM_ADDRX2:
	case FORM_ADDRX3:
	case FORM_ADDRX4:
		return VALUE_ADDRX;
	case FORM_SEC_OFFSET:
		return VALUE_OFFSET;
	case FORM_STRP:
		return VALUE_STRP;
	case FORM_LINE_STRP:
		return VALUE_LINE_STRP;
	case FORM_STRP_SUP:
	case FORM_GNU_STRP_ALT:
		return VALUE_ALT_STRP;
	case FORM_REF_SIG8:
	case FORM_DATA16:
		return VALUE_OTHER;
	default:
		return VALUE_UINT;
	}
}

static struct dwarf_value read_fixed(const struct dwarf_unit *u, struct cursor *c, unsigned form,
				     size_t size)
{
	struct dwarf_value v = { .kind = fixed_kind(form) };
	const unsigned char *bytes = cursor_bytes(c, size);

	if (bytes)
		memcpy(&v.u, bytes, size < sizeof v.u ? size : sizeof v.u);
	/* All but FORM_REF_ADDR count from the unit. */
	if (v.kind == VALUE_REF && form != FORM_REF_ADDR)
		v.u += u->offset;
	return v;
}

static struct dwarf_value skip_block(struct cursor *c, uint64_t len)
{
	cursor_skip(c, len);
	return (struct dwarf_value){ .kind = VALUE_OTHER };
}

static struct dwarf_value read_string(struct cursor *c)
{
	size_t len;
	const char *text = cursor_cstr(c, &len);

	if (!text)
		return (struct dwarf_value){ 0 };
	return (struct dwarf_value){ .kind = VALUE_STRING, .text = text };
}

static struct dwarf_value make_value(enum dwarf_value_kind kind, uint64_t u)
{
	return (struct dwarf_value){ .kind = kind, .u = u };
}

static struct dwarf_value read_varying(const struct dwarf_unit *u, struct cursor *c, unsigned form)
{
	switch (form) {
	case FORM_STRING:
		return read_string(c);
	case FORM_BLOCK1:
		return skip_block(c, cursor_u8(c));
	case FORM_BLOCK2:
		return skip_block(c, cursor_u16(c));
	case FORM_BLOCK4:
		return skip_block(c, cursor_u32(c));
	case FORM_BLOCK:
	case FORM_EXPRLOC:
		return skip_block(c, cursor_uleb(c));
	case FORM_SDATA:
		return make_value(VALUE_UINT, (uint64_t)cursor_sleb(c));
	case FORM_UDATA:
		return make_value(VALUE_UINT, cursor_uleb(c));
	case FORM_REF_UDATA:
		return make_value(VALUE_REF, u->offset + cursor_uleb(c));
	case FORM_STRX:
	case FORM_GNU_STR_INDEX:
		return make_value(VALUE_STRX, cursor_uleb(c));
	case FORM_ADDRX:
	case FORM_GNU_ADDR_INDEX:
		return make_value(VALUE_ADDRX, cursor_uleb(c));
	case FORM_RNGLISTX:
		return make_value(VALUE_LIST, cursor_uleb(c));
	case FORM_LOCLISTX:
		return make_value(VALUE_OTHER, cursor_uleb(c));
	default:
		cursor_skip(c, cursor_left(c) + 1);
		return (struct dwarf_value){ 0 };
	}
}

struct dwarf_value form_read(const struct dwarf_unit *u, struct cursor *c, unsigned form,
			     int64_t implicit)
{
	int size;

	if (form == FORM_INDIRECT) {
		form = (unsigned)cursor_uleb(c);
		if (form == FORM_INDIRECT || form == FORM_IMPLICIT_CONST)
			return read_varying(u, c, 0);
	}
	if (form == FORM_IMPLICIT_CONST)
		return make_value(VALUE_UINT, (uint64_t)implicit);
	if (form == FORM_FLAG_PRESENT)
		return make_value(VALUE_UINT, 1);
	size = form_size(u, form);
	return size < 0 ? read_varying(u, c, form) : read_fixed(u, c, form, (size_t)size);
}

uint64_t form_read_offset(const struct dwarf_unit *u, struct cursor *c)
{
	return u->offset_size == 8 ? cursor_u64(c) : cursor_u32(c);
}

uint64_t form_read_address(const struct dwarf_unit *u, struct cursor *c)
{
	return u->address_size == 8 ? cursor_u64(c) : cursor_u32(c);
}

static const char *text_at(struct dwarf *d, enum dwarf_section section, uint64_t offset)
{
	struct cursor c = dwarf_bytes_at(d, section, offset);
	size_t len;

	return cursor_cstr(&c, &len);
}

/* Entry index of a table of size bytes each, at base; bad when it is not there. */
static struct cursor indexed(struct dwarf *d, enum dwarf_section section, uint64_t base,
			     uint64_t index, size_t size)
{
	struct cursor none = { .bad = true };
	uint64_t offset;

	if (__builtin_mul_overflow(index, size, &offset) ||
	    __builtin_add_overflow(offset, base, &offset))
		return none;
	return dwarf_bytes_at(d, section, offset);
}

static const char *indexed_text(const struct dwarf_unit *u, uint64_t index)
{
	struct cursor c =
		indexed(u->dwarf, DWARF_STR_OFFSETS, u->str_offsets_base, index, u->offset_size);
	uint64_t offset = form_read_offset(u, &c);

	return c.bad ? NULL : text_at(u->dwarf, DWARF_STR, offset);
}

const char *value_text(const struct dwarf_unit *u, struct dwarf_value v)
{
	switch (v.kind) {
	case VALUE_STRING:
		return v.text;
	case VALUE_STRP:
		return text_at(u->dwarf, DWARF_STR, v.u);
	case VALUE_LINE_STRP:
		return text_at(u->dwarf, DWARF_LINE_STR, v.u);
	case VALUE_STRX:
		return indexed_text(u, v.u);
	case VALUE_ALT_STRP:
		return u->dwarf->alt ? text_at(u->dwarf->alt, DWARF_STR, v.u) : NULL;
	default:
		return NULL;
	}
}

bool value_address(const struct dwarf_unit *u, struct dwarf_value v, uint64_t *ret)
{
	const struct dwarf_unit *home = dwarf_home(u);
	struct cursor c;

	if (v.kind == VALUE_ADDRESS) {
		*ret = v.u;
		return true;
	}
	if (v.kind != VALUE_ADDRX)
		return false;
	c = indexed(home->dwarf, DWARF_ADDR, home->addr_base, v.u, home->address_size);
	*ret = form_read_address(home, &c);
	return !c.bad;
}

bool value_offset(struct dwarf_value v, uint64_t *ret)
{
	if (v.kind != VALUE_OFFSET && v.kind != VALUE_UINT)
		return false;
	*ret = v.u;
	return true;
}
