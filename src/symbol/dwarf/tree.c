/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/tree.h"

#include <stdlib.h>

#include "symbol/dwarf/abbrev.h"
#include "symbol/dwarf/form.h"
#include "symbol/dwarf/names.h"

/* An entry with children. */
struct node {
	uint64_t begin, end;   /* of the entry; one past its children */
	uint32_t first, count; /* of its children those that have children: nodes[first..) */
	bool is_listed;
};

struct dwarf_tree {
	struct buf nodes; /* struct node; the unit's own entry first */
};

void dwarf_tree_free(struct dwarf_tree *t)
{
	if (t)
		buf_fini(&t->nodes);
	free(t);
}

static struct node *node_at(const struct dwarf_tree *t, uint32_t index)
{
	return (struct node *)(void *)t->nodes.data + index;
}

/* Reads the next entry. NULL: the end of a list of children, or broken (c is bad). */
static const struct abbrev *next_entry(struct dwarf_unit *u, const struct dwarf_abbrevs *abbrevs,
				       struct cursor *c, uint64_t *ret_sibling)
{
	uint64_t code = cursor_uleb(c);
	const struct abbrev *abbrev = code ? abbrev_find(abbrevs, code) : NULL;
	const struct abbrev_step *step = abbrev ? abbrev_steps(abbrevs, abbrev) : NULL;

	*ret_sibling = 0;
	c->bad |= code && !abbrev;
	for (uint32_t i = 0; step && i < abbrev->step_count; i++, step++) {
		const struct abbrev_attr *attr = abbrev_attrs(abbrevs, abbrev) + step->attr;
		struct dwarf_value v;

		cursor_skip(c, step->skip);
		v = form_read(u, c, attr->form, attr->implicit);
		if (attr->name == AT_SIBLING && v.kind == VALUE_REF)
			*ret_sibling = v.u;
	}
	if (abbrev)
		cursor_skip(c, abbrev->tail);
	return c->bad ? NULL : abbrev;
}

/* Steps over the children of the entry just read. */
static void skip_children(struct dwarf_unit *u, const struct dwarf_abbrevs *abbrevs,
			  struct cursor *c, uint64_t sibling)
{
	struct cursor next = dwarf_bytes_at(u->dwarf, DWARF_INFO, sibling);
	size_t depth = 1;

	if (sibling && !next.bad && next.at > c->at && next.at < c->end) {
		c->at = next.at;
		return;
	}
	while (depth && !c->bad) {
		const unsigned char *at = c->at;
		const struct abbrev *abbrev = next_entry(u, abbrevs, c, &sibling);

		if (!abbrev)
			depth--;
		else if (abbrev->has_children)
			depth++;
		c->bad |= at == c->at || !dwarf_spend(u->dwarf, (uint64_t)(c->at - at));
	}
}

/* Lists the children of a node. */
static void list_children(struct dwarf_unit *u, uint32_t index)
{
	const struct dwarf_abbrevs *abbrevs = dwarf_unit_abbrevs(u);
	struct dwarf_tree *t = u->tree;
	struct node parent = *node_at(t, index);
	struct cursor c = dwarf_bytes_at(u->dwarf, DWARF_INFO, parent.begin);
	const unsigned char *begin = c.at;
	const struct abbrev *abbrev = NULL;
	uint64_t sibling;

	parent.is_listed = true;
	parent.first = (uint32_t)(t->nodes.len / sizeof parent);
	if (abbrevs && !c.bad && cursor_left(&c) >= parent.end - parent.begin) {
		c.end = c.at + (parent.end - parent.begin);
		abbrev = next_entry(u, abbrevs, &c, &sibling);
	}
	while (abbrev && cursor_left(&c)) {
		struct node child = { .begin = parent.begin + (uint64_t)(c.at - begin) };

		abbrev = next_entry(u, abbrevs, &c, &sibling);
		if (!abbrev || !abbrev->has_children)
			continue;
		skip_children(u, abbrevs, &c, sibling);
		child.end = parent.begin + (uint64_t)(c.at - begin);
		buf_put(&t->nodes, &child, sizeof child);
		parent.count++;
	}
	if (buf_error(&t->nodes) < 0)
		u->dwarf->bad = true;
	else
		*node_at(t, index) = parent;
}

/* The listed child that encloses offset; parent: none does. */
static uint32_t find_child(const struct dwarf_tree *t, uint32_t parent, uint64_t offset)
{
	uint32_t low = node_at(t, parent)->first, high = low + node_at(t, parent)->count;
	uint32_t first = low;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (node_at(t, middle)->begin < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first && offset < node_at(t, low - 1)->end ? low - 1 : parent;
}

static bool has_tree(struct dwarf_unit *u)
{
	struct node root = { .begin = u->root, .end = u->end };

	if (u->tree || u->dwarf->bad)
		return u->tree && !u->dwarf->bad;
	u->tree = calloc(1, sizeof *u->tree);
	if (u->tree)
		buf_put(&u->tree->nodes, &root, sizeof root);
	if (!u->tree || buf_error(&u->tree->nodes) < 0)
		u->dwarf->bad = true;
	return !u->dwarf->bad;
}

size_t dwarf_enclosing(struct dwarf_unit *u, uint64_t offset, uint64_t *ret, size_t max)
{
	uint32_t at = 0;
	size_t count = 0;

	while (count < max && has_tree(u)) {
		uint32_t child;

		if (!node_at(u->tree, at)->is_listed)
			list_children(u, at);
		if (u->dwarf->bad)
			break;
		child = find_child(u->tree, at, offset);
		if (child == at)
			break;
		ret[count++] = node_at(u->tree, child)->begin;
		at = child;
	}
	return count;
}
