/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/scopes.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/dwarf/abbrev.h"
#include "symbol/dwarf/entry.h"
#include "symbol/dwarf/form.h"
#include "symbol/dwarf/lines.h"
#include "symbol/dwarf/names.h"
#include "symbol/dwarf/ranges.h"

#define MAX_DEPTH 512 /* of entries within entries; real ones stay below 100 */

/* What entries can be in, besides a kept scope. */
#define SCOPE_NONE UINT32_MAX           /* no function */
#define SCOPE_UNWANTED (UINT32_MAX - 1) /* a function without wanted addresses */

/* A function or inlined call that may hold wanted addresses. */
struct scope {
	uint64_t entry;  /* offset in .debug_info */
	uint32_t parent; /* index, or SCOPE_NONE */
	uint32_t call;   /* index in calls, once it was read; else UINT32_MAX */
	bool is_inlined;
};

/* The walk over one unit. */
struct walk {
	struct dwarf_unit *unit;
	bool is_thorough; /* enters functions without wanted addresses, for their local classes */
	const struct dwarf_abbrevs *abbrevs;
	struct cursor c;            /* the entries */
	struct rangemap map;        /* wanted addresses of this unit; values index scopes */
	struct buf scopes;          /* struct scope */
	struct buf calls;           /* struct dwarf_call */
	uint32_t inside[MAX_DEPTH]; /* the scope that entries of this depth are in */
	uint64_t sibling;           /* of the entry just read; 0: unknown */
};

/* Reads the values of an entry that the walk is about, and steps over the rest. */
static void read_values(struct walk *w, const struct abbrev *abbrev, struct dwarf_code *ret)
{
	const struct abbrev_step *step = abbrev_steps(w->abbrevs, abbrev);
	const struct abbrev_attr *attrs = abbrev_attrs(w->abbrevs, abbrev);

	*ret = (struct dwarf_code){ 0 };
	w->sibling = 0;
	for (uint32_t i = 0; i < abbrev->step_count; i++, step++) {
		const struct abbrev_attr *attr = &attrs[step->attr];
		struct dwarf_value v;

		cursor_skip(&w->c, step->skip);
		v = form_read(w->unit, &w->c, attr->form, attr->implicit);
		switch (attr->name) {
		case AT_SIBLING:
			w->sibling = v.kind == VALUE_REF ? v.u : 0;
			break;
		case AT_LOW_PC:
			ret->low_pc = v;
			break;
		case AT_HIGH_PC:
			ret->high_pc = v;
			break;
		case AT_RANGES:
			ret->ranges = v;
			break;
		default:
			break;
		}
	}
	cursor_skip(&w->c, abbrev->tail);
}

static uint32_t keep_scope(struct walk *w, uint64_t entry, uint32_t parent, bool is_inlined)
{
	struct scope scope = { entry, parent, UINT32_MAX, is_inlined };

	buf_put(&w->scopes, &scope, sizeof scope);
	return (uint32_t)(w->scopes.len / sizeof scope - 1);
}

/* The scope that the children of this entry are in. */
static uint32_t enter(struct walk *w, unsigned tag, uint64_t entry, uint32_t around,
		      const struct dwarf_code *code)
{
	uint32_t next = (uint32_t)(w->scopes.len / sizeof(struct scope));

	if (tag == TAG_SUBPROGRAM) {
		/* Nested functions have code of their own, outside of the outer one. */
		if (!dwarf_add_code(w->unit, code, &w->map, next))
			return SCOPE_UNWANTED;
		return keep_scope(w, entry, SCOPE_NONE, false);
	}
	if (tag != TAG_INLINED_SUBROUTINE || around == SCOPE_UNWANTED || around == SCOPE_NONE)
		return around;
	/* Kept in any case: compilers leave ranges of what is within it outside of its own. */
	dwarf_add_code(w->unit, code, &w->map, next);
	return keep_scope(w, entry, around, true);
}

/* Can there be no function that matters in what this entry contains? */
static bool is_closed(const struct walk *w, unsigned tag, uint32_t inside)
{
	switch (tag) {
	case TAG_CLASS:
	case TAG_STRUCTURE:
	case TAG_UNION:
	case TAG_ENUMERATION:
	case TAG_INTERFACE:
		return inside == SCOPE_NONE; /* local classes hold the code of lambdas */
	case TAG_INLINED_SUBROUTINE:
		return inside == SCOPE_UNWANTED;
	case TAG_SUBPROGRAM:
		return inside == SCOPE_UNWANTED && w->unit->is_flat && !w->is_thorough;
	default:
		return false;
	}
}

/* Skips the children of the entry just read, if it has a sibling link. */
static bool skip_children(struct walk *w)
{
	struct cursor next = dwarf_bytes_at(w->unit->dwarf, DWARF_INFO, w->sibling);

	if (!w->sibling || next.bad || next.at <= w->c.at || next.at >= w->c.end)
		return false;
	w->c.at = next.at;
	return true;
}

static void walk_entries(struct walk *w)
{
	const unsigned char *begin = w->c.at;
	size_t depth = 0;

	w->inside[0] = SCOPE_NONE;
	do {
		uint64_t entry = w->unit->root + (uint64_t)(w->c.at - begin);
		uint64_t code = cursor_uleb(&w->c);
		const struct abbrev *abbrev;
		struct dwarf_code pcs;
		uint32_t inside;

		if (code == 0) {
			if (depth)
				depth--;
			continue;
		}
		abbrev = abbrev_find(w->abbrevs, code);
		if (!abbrev)
			return;
		read_values(w, abbrev, &pcs);
		inside = enter(w, abbrev->tag, entry, w->inside[depth], &pcs);
		if (!abbrev->has_children ||
		    (is_closed(w, abbrev->tag, inside) && skip_children(w)))
			continue;
		if (++depth == MAX_DEPTH)
			return;
		w->inside[depth] = inside;
	} while (depth && !w->c.bad && cursor_left(&w->c));
}

static const struct dwarf_call *scope_call(struct walk *w, struct dwarf_functions *functions,
					   struct scope *scope)
{
	if (scope->call == UINT32_MAX) {
		struct dwarf_call call = dwarf_read_call(functions, w->unit, scope->entry);

		scope->call = (uint32_t)(w->calls.len / sizeof call);
		buf_put(&w->calls, &call, sizeof call);
		if (buf_error(&w->calls) < 0)
			return NULL;
	}
	return &((struct dwarf_call *)(void *)w->calls.data)[scope->call];
}

/* The frames of one address: its innermost scope, which code from position of the unit is in,
 * and the scopes around that. */
static void add_frames(struct walk *w, struct dwarf_functions *functions, uint32_t index,
		       struct dwarf_position position, struct buf *frames)
{
	struct scope *scopes = (void *)w->scopes.data;
	bool is_inlined = true;

	do {
		struct scope *scope = index == SCOPE_NONE ? NULL : &scopes[index];
		const struct dwarf_call *call = scope ? scope_call(w, functions, scope) : NULL;
		struct dwarf_frame frame = {
			.name = call ? call->function.name : STRTAB_NONE,
			.file = dwarf_file_path(w->unit, position.file, functions->strings),
			.line = position.line < UINT32_MAX ? (uint32_t)position.line : 0,
		};

		if (call && frame.file != STRTAB_NONE && call->function.file == frame.file)
			frame.start_line = call->function.line;
		buf_put(frames, &frame, sizeof frame);
		is_inlined = call && scope->is_inlined;
		if (is_inlined) {
			position = (struct dwarf_position){ call->file, call->line };
			index = scope->parent;
		}
	} while (is_inlined);
}

/* All frames of the wanted addresses of one unit, which is walked. */
static void add_all_frames(struct walk *w, struct dwarf_functions *functions,
			   const uint32_t *innermost, const struct dwarf_position *positions,
			   struct buf *frames, struct dwarf_span *spans)
{
	for (size_t i = 0; i < w->map.count; i++) {
		size_t first = frames->len / sizeof(struct dwarf_frame);

		if (innermost[i] == RANGEMAP_NONE && positions[i].line == 0)
			continue;
		add_frames(w, functions, innermost[i], positions[i], frames);
		spans[i].first = (uint32_t)first;
		spans[i].count = (uint32_t)(frames->len / sizeof(struct dwarf_frame) - first);
	}
}

static void walk_fini(struct walk *w)
{
	rangemap_fini(&w->map);
	buf_fini(&w->scopes);
	buf_fini(&w->calls);
}

/* Walks the entries of u, and finds the innermost scope of each wanted address. */
static int walk_unit(struct walk *w, struct dwarf_unit *u, const uint64_t *wanted, size_t count,
		     uint32_t *innermost)
{
	w->unit = u;
	w->map = rangemap_make(wanted, count);
	w->abbrevs = dwarf_unit_abbrevs(u);
	w->c = dwarf_bytes_at(u->dwarf, DWARF_INFO, u->root);
	if (!w->c.bad && w->abbrevs) {
		w->c.end = w->c.at + (u->end - u->root);
		walk_entries(w);
	}
	return buf_error(&w->scopes) < 0 ? -ENOMEM : rangemap_resolve(&w->map, innermost);
}

static bool has_unknown(const uint32_t *innermost, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (innermost[i] == RANGEMAP_NONE)
			return true;
	return false;
}

/* u: the unit, or its other part. wanted: those of the unit. */
static void find_in_unit(struct dwarf_unit *u, struct dwarf_functions *functions,
			 const uint64_t *wanted, size_t count, struct buf *frames,
			 struct dwarf_span *spans)
{
	struct walk *w = calloc(1, sizeof *w);
	struct dwarf_position *positions = calloc(count, sizeof *positions);
	uint32_t *innermost = calloc(count, sizeof *innermost);
	int rc;

	if (!w || !positions || !innermost) {
		u->dwarf->bad = true;
		goto out;
	}
	rc = walk_unit(w, u, wanted, count, innermost);
	/* Entries of functions that nothing is wanted of are most of a unit; they are read only
	 * when the others leave something open. */
	if (rc == 0 && u->is_flat && has_unknown(innermost, count)) {
		walk_fini(w);
		*w = (struct walk){ .is_thorough = true };
		rc = walk_unit(w, u, wanted, count, innermost);
	}
	dwarf_find_lines(u, wanted, count, positions);
	if (rc < 0)
		u->dwarf->bad = true;
	else
		add_all_frames(w, functions, innermost, positions, frames, spans);
out:
	if (w)
		walk_fini(w);
	free(w);
	free(positions);
	free(innermost);
}

/* The scopes of a skeleton are in a file of their own; without it, only lines are known. */
static void find_in_split(struct dwarf_unit *skeleton, struct dwarf_functions *functions,
			  const uint64_t *wanted, size_t count, struct buf *frames,
			  struct dwarf_span *spans)
{
	struct dwarf_functions own = { .strings = functions->strings };
	struct dwarf_split split;

	if (!dwarf_split_open(skeleton, &split)) {
		find_in_unit(skeleton, functions, wanted, count, frames, spans);
		return;
	}
	find_in_unit(&split.unit, &own, wanted, count, frames, spans);
	skeleton->dwarf->bad |= split.unit.dwarf->bad;
	dwarf_functions_fini(&own);
	dwarf_split_close(&split);
}

/* The wanted addresses of one unit, out of all. */
struct part {
	uint32_t unit, index;
};

static int by_unit(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* parts: [count], all of one unit. scratch: [count] each. */
static void find_part(struct dwarf *d, struct dwarf_functions *functions, const uint64_t *wanted,
		      const struct part *parts, size_t count, uint64_t *addresses,
		      struct dwarf_span *found, struct buf *frames, struct dwarf_span *spans)
{
	struct dwarf_unit *unit = &d->units[parts[0].unit];

	for (size_t i = 0; i < count; i++) {
		addresses[i] = wanted[parts[i].index];
		found[i] = (struct dwarf_span){ 0 };
	}
	if (dwarf_is_split(unit))
		find_in_split(unit, functions, addresses, count, frames, found);
	else
		find_in_unit(unit, functions, addresses, count, frames, found);
	for (size_t i = 0; i < count; i++)
		spans[parts[i].index] = found[i];
}

/* Which unit each wanted address is in: sorted by unit. Returns how many are in one. */
static size_t sort_by_unit(struct dwarf *d, const uint64_t *wanted, size_t count, struct part *ret)
{
	struct rangemap map = rangemap_make(wanted, count);
	uint32_t *units = calloc(count, sizeof *units);
	size_t n = 0;

	dwarf_add_units(d, &map);
	if (!units || rangemap_resolve(&map, units) < 0)
		d->bad = true;
	for (size_t i = 0; !d->bad && i < count; i++)
		if (units[i] != RANGEMAP_NONE)
			ret[n++] = (struct part){ units[i], (uint32_t)i };
	rangemap_fini(&map);
	free(units);
	if (n)
		qsort(ret, n, sizeof *ret, by_unit);
	return n;
}

int dwarf_find_scopes(struct dwarf *d, const uint64_t *wanted, size_t count, struct strtab *strings,
		      struct buf *frames, struct dwarf_span *spans)
{
	struct dwarf_functions functions = { .strings = strings };
	struct part *parts = calloc(count + 1, sizeof *parts);
	uint64_t *addresses = calloc(count + 1, sizeof *addresses);
	struct dwarf_span *found = calloc(count + 1, sizeof *found);
	size_t n = 0, end;

	for (size_t i = 0; i < count; i++)
		spans[i] = (struct dwarf_span){ 0 };
	if (parts && addresses && found)
		n = sort_by_unit(d, wanted, count, parts);
	else
		d->bad = true;
	for (size_t i = 0; i < n && !d->bad; i = end) {
		for (end = i; end < n && parts[end].unit == parts[i].unit;)
			end++;
		find_part(d, &functions, wanted, parts + i, end - i, addresses, found, frames,
			  spans);
	}
	free(parts);
	free(addresses);
	free(found);
	dwarf_functions_fini(&functions);
	if (d->bad || (d->alt && d->alt->bad) || buf_error(frames) < 0)
		return -ENOMEM;
	return 0;
}
