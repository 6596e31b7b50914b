/* SPDX-License-Identifier: MIT */
/*
 * dwarf_abbrev: the shapes of a unit's entries. Source: DWARF 5, 7.5.3.
 *
 * For the walk over all entries of a unit each shape also has steps: what must be looked at,
 * and how many bytes of values of fixed size lie between.
 */
#ifndef SYMBOL_DWARF_ABBREV_H
#define SYMBOL_DWARF_ABBREV_H

#include "base/map.h"
#include "symbol/dwarf/sections.h"

struct abbrev_attr {
	uint16_t name, form;
	int64_t implicit; /* of FORM_IMPLICIT_CONST */
};

struct abbrev_step {
	uint32_t skip; /* bytes before it */
	uint32_t attr; /* of the shape's attributes: a value to be kept, or one whose size varies */
};

struct abbrev {
	uint32_t first_attr, attr_count; /* all attributes, in order */
	uint32_t first_step, step_count;
	uint32_t tail; /* bytes behind the last step */
	uint16_t tag;
	bool has_children;
};

struct dwarf_abbrevs {
	struct buf list;   /* struct abbrev; code 1 is the first one, as far as codes are dense */
	struct buf attrs;  /* struct abbrev_attr */
	struct buf steps;  /* struct abbrev_step */
	struct map others; /* code to index in list, for codes out of order */
	size_t dense;      /* codes 1..dense are list[0..dense) */
};

/* Those of a unit; read once, and shared. NULL: out of memory (remembered by u->dwarf). */
const struct dwarf_abbrevs *dwarf_unit_abbrevs(const struct dwarf_unit *u);
void dwarf_abbrevs_free(struct dwarf_abbrevs *a);

/* NULL: no such shape. */
const struct abbrev *abbrev_find(const struct dwarf_abbrevs *a, uint64_t code);

/* Of a shape: [attr_count], and [step_count]. */
static inline const struct abbrev_attr *abbrev_attrs(const struct dwarf_abbrevs *a,
						     const struct abbrev *abbrev)
{
	const struct abbrev_attr *all = (const void *)a->attrs.data;

	return all ? all + abbrev->first_attr : NULL;
}

static inline const struct abbrev_step *abbrev_steps(const struct dwarf_abbrevs *a,
						     const struct abbrev *abbrev)
{
	const struct abbrev_step *all = (const void *)a->steps.data;

	return all ? all + abbrev->first_step : NULL;
}

/* Finds one shape without keeping the others: its tag, and where its attributes are, for
 * abbrev_next_attr. false: not there. */
bool abbrev_seek(struct dwarf *d, uint64_t offset, uint64_t code, unsigned *ret_tag,
		 struct cursor *ret);

/* The next attribute of a shape that is being read; false at its end. */
bool abbrev_next_attr(struct cursor *c, struct abbrev_attr *ret);

#endif
