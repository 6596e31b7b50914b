/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_tree.h"

#include <string.h>

#include "base/number.h"

const struct std_name std_names[] = {
	{ 'a', "std::allocator", "std::allocator", "allocator" },
	{ 'b', "std::basic_string", "std::basic_string", "basic_string" },
	{ 's', "std::string",
	  "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
	  "basic_string" },
	{ 'i', "std::istream", "std::basic_istream<char, std::char_traits<char> >",
	  "basic_istream" },
	{ 'o', "std::ostream", "std::basic_ostream<char, std::char_traits<char> >",
	  "basic_ostream" },
	{ 'd', "std::iostream", "std::basic_iostream<char, std::char_traits<char> >",
	  "basic_iostream" },
	{ 0, NULL, NULL, NULL },
};

/* ---- references to what came before ---- */

/* "_" 0, "0_" 1, "A_" 11: base 36. */
static bool base36(struct itanium *p, uint32_t *ret)
{
	uint32_t value = 0;
	char c;

	if (itanium_take(p, '_')) {
		*ret = 0;
		return true;
	}
	while ((c = itanium_peek(p)) != '_' && value < UINT32_MAX / 64) {
		if (number_is_digit(c))
			value = value * 36 + (uint32_t)(c - '0');
		else if (c >= 'A' && c <= 'Z')
			value = value * 36 + (uint32_t)(c - 'A') + 10;
		else
			return false;
		p->at++;
	}
	*ret = value + 1;
	return itanium_take(p, '_');
}

static uint32_t std_name(struct itanium *p, char code)
{
	struct node node = { .kind = NODE_STD };
	uint32_t id, tag;
	bool is_tagged = false;

	for (uint32_t i = 0; std_names[i].code; i++) {
		if (std_names[i].code != code)
			continue;
		p->at++;
		node.number = i;
		id = itanium_add(p, node);
		while (!p->bad && itanium_take(p, 'B')) {
			tag = itanium_source_name(p);
			id = itanium_add_pair(p, NODE_TAGGED, id, tag);
			is_tagged = true;
		}
		return is_tagged ? itanium_remember(p, id) : id;
	}
	return 0;
}

/* What parameter number index, from 0, stands for here. */
static uint32_t parameter(struct itanium *p, uint32_t index)
{
	const uint32_t *arguments = (const void *)p->arguments.data;
	struct node node = { .kind = NODE_PARAMETER_OF, .number = index };
	uint32_t id;

	if (p->lambda_depth)
		return itanium_add(p, (struct node){ .kind = NODE_AUTO, .number = index + 1 });
	if (!p->may_forward) {
		if (index >= p->arguments.len / sizeof *arguments)
			return itanium_fail(p);
		node.left = arguments[index];
	}
	id = itanium_add(p, node);
	if (p->may_forward)
		buf_put(&p->forwards, &id, sizeof id);
	return buf_error(&p->forwards) < 0 ? itanium_fail(p) : id;
}

uint32_t itanium_substitution(struct itanium *p)
{
	const uint32_t *list = (const void *)p->substitutions.data;
	const struct node *node;
	uint32_t index, id;

	if (!itanium_take(p, 'S'))
		return itanium_fail(p);
	id = std_name(p, itanium_peek(p));
	if (id || p->bad)
		return id;
	if (!base36(p, &index) || index >= p->substitutions.len / sizeof *list)
		return itanium_fail(p);
	/* T_ is what it stands for where it is used: that may be another function's. */
	node = itanium_node(p, list[index]);
	if (node->kind == NODE_PARAMETER_OF)
		return parameter(p, node->number);
	if (node->kind == NODE_AUTO && (p->lambda_depth || p->arguments.len))
		return parameter(p, node->number - 1);
	return list[index];
}

/* T_, T0_, ...; TL0__ has the level of a nested template, too. */
uint32_t itanium_template_param(struct itanium *p)
{
	uint32_t index;

	if (!itanium_take(p, 'T'))
		return itanium_fail(p);
	if (itanium_take(p, 'L'))
		itanium_sequence(p);
	index = itanium_sequence(p);
	return p->bad ? 0 : parameter(p, index);
}

/* ---- template arguments ---- */

static uint32_t argument_pack(struct itanium *p)
{
	uint32_t first = 0, last = 0;

	while (!p->bad && !itanium_take(p, 'E'))
		itanium_append(p, &first, &last, itanium_template_arg(p));
	return itanium_add_pair(p, NODE_PACK, 0, first);
}

uint32_t itanium_template_arg(struct itanium *p)
{
	uint32_t id = 0;

	if (!itanium_enter(p)) {
		itanium_leave(p);
		return 0;
	}
	if (itanium_take(p, 'J')) {
		id = argument_pack(p);
	} else if (itanium_take(p, 'X')) {
		id = itanium_expression(p);
		if (!itanium_take(p, 'E'))
			itanium_fail(p);
	} else if (itanium_peek(p) == 'L') {
		id = itanium_literal(p);
	} else {
		id = itanium_type(p);
	}
	itanium_leave(p);
	return id;
}

/* Makes an argument known to T_, T0_, ... */
static void add_argument(struct itanium *p, uint32_t id)
{
	if (itanium_node(p, id)->kind == NODE_PACK)
		id = itanium_add_pair(p, NODE_PARAMETER_PACK, 0, itanium_node(p, id)->right);
	buf_put(&p->arguments, &id, sizeof id);
}

uint32_t itanium_template_args(struct itanium *p, bool is_of_name)
{
	bool may_take = p->may_take_arguments;
	uint32_t first = 0, last = 0, id;

	if (!itanium_take(p, 'I'))
		return itanium_fail(p);
	if (is_of_name)
		buf_clear(&p->arguments);
	p->may_take_arguments = true;
	while (!p->bad && !itanium_take(p, 'E')) {
		id = itanium_template_arg(p);
		itanium_append(p, &first, &last, id);
		if (is_of_name)
			add_argument(p, id);
	}
	p->may_take_arguments = may_take;
	if (is_of_name)
		p->argument_list = first;
	if (buf_error(&p->arguments) < 0)
		itanium_fail(p);
	return first;
}
