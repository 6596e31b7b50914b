/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_tree.h"

#include <string.h>

#include "base/macros.h"
#include "base/number.h"

uint32_t itanium_source_name(struct itanium *p)
{
	static const char anonymous[] = "_GLOBAL__N";
	struct node node = { .kind = NODE_TEXT };
	uint32_t len;

	if (!itanium_number(p, &len) || len == 0 || len > p->len - p->at)
		return itanium_fail(p);
	node.text = p->text + p->at;
	node.len = len;
	p->at += len;
	/* One of the characters behind is '_', '.' or '$', by what the assembler allows. */
	if (len >= 10 && memcmp(node.text, anonymous, 8) == 0 && node.text[9] == 'N')
		return itanium_add_text(p, "(anonymous namespace)");
	return itanium_add(p, node);
}

/* ---- parts of names ---- */

/* Ut_, Ut0_, ... */
static uint32_t unnamed_type(struct itanium *p)
{
	return itanium_add(
		p, (struct node){ .kind = NODE_UNNAMED, .number = itanium_sequence(p) + 1 });
}

/* Ul TYPE... E_, Ul TYPE... E0_, ... */
static uint32_t lambda(struct itanium *p)
{
	struct node node = { .kind = NODE_LAMBDA };

	p->lambda_depth++;
	node.right = itanium_type_list(p, 'E');
	p->lambda_depth--;
	node.number = itanium_sequence(p) + 1;
	return itanium_add(p, node);
}

/* DC NAME... E */
static uint32_t binding(struct itanium *p)
{
	uint32_t first = 0, last = 0;

	while (!p->bad && !itanium_take(p, 'E'))
		itanium_append(p, &first, &last, itanium_source_name(p));
	return itanium_add_pair(p, NODE_BINDING, 0, first);
}

/* scope: the class. */
static uint32_t structor(struct itanium *p, uint32_t scope, struct name_facts *facts)
{
	bool is_destructor = itanium_take(p, 'D'), is_inherited;
	char kind;

	if (!is_destructor)
		itanium_take(p, 'C');
	is_inherited = !is_destructor && itanium_take(p, 'I');
	kind = itanium_peek(p);
	if (kind < '0' || kind > '5' || !scope)
		return itanium_fail(p);
	p->at++;
	if (is_inherited)
		itanium_type(p); /* from where */
	if (facts)
		facts->has_no_return = true;
	return itanium_add_pair(p, is_destructor ? NODE_DTOR : NODE_CTOR, scope, 0);
}

/* Its type may name template arguments that follow. */
static uint32_t conversion(struct itanium *p, struct name_facts *facts)
{
	bool may_forward = p->may_forward, may_take = p->may_take_arguments;
	uint32_t type;

	p->may_forward = true;
	p->may_take_arguments = false;
	type = itanium_type(p);
	p->may_forward = may_forward;
	p->may_take_arguments = may_take;
	if (facts)
		facts->has_no_return = true;
	return itanium_add_pair(p, NODE_CONVERT, type, 0);
}

static uint32_t operator_name(struct itanium *p, struct name_facts *facts)
{
	struct node node = { .kind = NODE_OPERATOR };
	uint32_t name;

	if (itanium_take_text(p, "cv"))
		return conversion(p, facts);
	if (itanium_take_text(p, "li")) {
		name = itanium_source_name(p);
		return itanium_add_pair(p, NODE_LITERAL_OPERATOR, name, 0);
	}
	if (itanium_peek(p) == 'v' && number_is_digit(itanium_peek_at(p, 1))) { /* of a vendor */
		p->at += 2;
		name = itanium_source_name(p);
		return itanium_add_pair(p, NODE_CONVERT, name, 0);
	}
	node.text = itanium_operator(p);
	if (!node.text)
		return itanium_fail(p);
	node.len = (uint32_t)strlen(node.text);
	return itanium_add(p, node);
}

static uint32_t plain_name(struct itanium *p, uint32_t scope, struct name_facts *facts)
{
	char c = itanium_peek(p);

	if (number_is_digit(c))
		return itanium_source_name(p);
	if (itanium_take_text(p, "Ut"))
		return unnamed_type(p);
	if (itanium_take_text(p, "Ul"))
		return lambda(p);
	if (itanium_take_text(p, "DC"))
		return binding(p);
	if (c == 'C' || c == 'D')
		return structor(p, scope, facts);
	return operator_name(p, facts);
}

uint32_t itanium_unqualified(struct itanium *p, uint32_t scope, struct name_facts *facts)
{
	uint32_t name, tag;

	itanium_take(p, 'L'); /* internal linkage */
	name = plain_name(p, scope, facts);
	while (!p->bad && itanium_take(p, 'B')) {
		tag = itanium_source_name(p);
		name = itanium_add_pair(p, NODE_TAGGED, name, tag);
	}
	return name;
}

/* The number of one of several things of the same name; not shown. */
static void skip_discriminator(struct itanium *p)
{
	uint32_t number;

	if (itanium_peek(p) != '_')
		return;
	if (number_is_digit(itanium_peek_at(p, 1))) {
		p->at += 2;
	} else if (itanium_peek_at(p, 1) == '_' && number_is_digit(itanium_peek_at(p, 2))) {
		p->at += 2;
		itanium_number(p, &number);
		itanium_take(p, '_');
	}
}

/* ---- names ---- */

/* Z ENCODING E NAME: something within a function, whose return type is not shown. */
static uint32_t local_name(struct itanium *p, struct name_facts *facts)
{
	uint32_t function = itanium_encoding(p), name, number;

	if (p->bad || !itanium_take(p, 'E'))
		return itanium_fail(p);
	if (itanium_node(p, function)->kind == NODE_ENCODING)
		itanium_node(p, itanium_node(p, function)->right)->left = 0;
	if (itanium_take(p, 's')) {
		name = itanium_add_text(p, "string literal");
	} else if (itanium_take(p, 'd')) {
		number = itanium_sequence(p) + 1;
		name = itanium_name(p, facts);
		name = itanium_add(
			p, (struct node){ .kind = NODE_DEFAULT, .left = name, .number = number });
	} else {
		name = itanium_name(p, facts);
	}
	skip_discriminator(p);
	return itanium_add_pair(p, NODE_SCOPED, function, name);
}

/* A class known by an abbreviation is written in full before its constructor. */
static uint32_t write_out(struct itanium *p, uint32_t scope)
{
	struct node node = *itanium_node(p, scope);

	if (node.kind != NODE_STD)
		return scope;
	node.right = 1;
	return itanium_add(p, node);
}

/* One more part of a nested name, behind scope. */
static uint32_t nested_part(struct itanium *p, uint32_t scope, struct name_facts *facts)
{
	char c = itanium_peek(p), next = itanium_peek_at(p, 1);
	uint32_t part;

	if (c == 'I') {
		if (!scope)
			return itanium_fail(p);
		part = itanium_template_args(p, facts != NULL);
		if (facts)
			facts->is_template = true;
		return itanium_remember(p, itanium_add_pair(p, NODE_TEMPLATE, scope, part));
	}
	if (c == 'T')
		return itanium_remember(p, itanium_template_param(p));
	if (c == 'D' && (next == 't' || next == 'T'))
		return itanium_remember(p, itanium_decltype(p));
	if (c == 'S' && next == 't' && !scope) {
		p->at += 2;
		return itanium_add_text(p, "std");
	}
	if (c == 'S')
		return scope ? itanium_fail(p) : itanium_substitution(p);
	if (facts)
		*facts = (struct name_facts){ 0 };
	if (scope && (c == 'C' || (c == 'D' && next != 'C')))
		scope = write_out(p, scope);
	part = itanium_unqualified(p, scope, facts);
	if (scope)
		part = itanium_add_pair(p, NODE_SCOPED, scope, part);
	return itanium_remember(p, part);
}

/* N [qualifiers] PART... E */
static uint32_t nested_name(struct itanium *p, struct name_facts *facts)
{
	uint32_t qualifiers = itanium_qualifiers(p), scope = 0;

	if (itanium_take(p, 'R'))
		qualifiers |= QUALIFIER_LVALUE;
	else if (itanium_take(p, 'O'))
		qualifiers |= QUALIFIER_RVALUE;
	while (!p->bad && !itanium_take(p, 'E')) {
		scope = nested_part(p, scope, facts);
		itanium_take(p, 'M'); /* the initializer of a member, with a lambda */
	}
	/* The caller adds the whole to the substitutions if it is a type. */
	if (p->bad || !scope || p->substitutions.len < sizeof(uint32_t))
		return itanium_fail(p);
	p->substitutions.len -= sizeof(uint32_t);
	if (!qualifiers)
		return scope;
	return itanium_add(
		p,
		(struct node){ .kind = NODE_MEMBER_FUNCTION, .left = scope, .number = qualifiers });
}

static uint32_t take_arguments(struct itanium *p, uint32_t name, struct name_facts *facts)
{
	uint32_t args = itanium_template_args(p, facts != NULL);

	if (facts)
		facts->is_template = true;
	return itanium_add_pair(p, NODE_TEMPLATE, name, args);
}

uint32_t itanium_name(struct itanium *p, struct name_facts *facts)
{
	uint32_t name;
	bool is_std;

	if (facts)
		*facts = (struct name_facts){ 0 };
	if (itanium_take(p, 'N'))
		return nested_name(p, facts);
	if (itanium_take(p, 'Z'))
		return local_name(p, facts);
	if (itanium_peek(p) == 'S' && itanium_peek_at(p, 1) != 't') {
		name = itanium_substitution(p);
		return itanium_peek(p) == 'I' ? take_arguments(p, name, facts) : itanium_fail(p);
	}
	is_std = itanium_take_text(p, "St");
	name = itanium_unqualified(p, 0, facts);
	if (is_std)
		name = itanium_add_pair(p, NODE_SCOPED, itanium_add_text(p, "std"), name);
	if (itanium_peek(p) == 'I')
		name = take_arguments(p, itanium_remember(p, name), facts);
	return name;
}

/* ---- names of what the compiler makes ---- */

static void skip_offset(struct itanium *p)
{
	uint32_t number;

	itanium_take(p, 'n');
	if (!itanium_number(p, &number) || !itanium_take(p, '_'))
		itanium_fail(p);
}

/* h NUMBER _, or v NUMBER _ NUMBER _ */
static void skip_call_offset(struct itanium *p)
{
	bool is_virtual = itanium_take(p, 'v');

	if (!is_virtual && !itanium_take(p, 'h'))
		itanium_fail(p);
	skip_offset(p);
	if (is_virtual)
		skip_offset(p);
}

static uint32_t special(struct itanium *p, const char *text, uint32_t what)
{
	return itanium_add(p, (struct node){ .kind = NODE_SPECIAL,
					     .text = text,
					     .len = (uint32_t)strlen(text),
					     .left = what });
}

static uint32_t construction_vtable(struct itanium *p)
{
	uint32_t derived = itanium_type(p), base;

	skip_offset(p);
	base = itanium_type(p);
	return itanium_add_pair(p, NODE_VTABLE_IN, derived, base);
}

static uint32_t thunk(struct itanium *p, const char *text, size_t offsets)
{
	while (offsets--)
		skip_call_offset(p);
	return special(p, text, itanium_encoding(p));
}

/* TV, TI, ...; false: none of them. */
static bool special_of_type(struct itanium *p, uint32_t *ret)
{
	static const struct {
		const char *code, *text;
	} rows[] = {
		{ "TV", "vtable for " },
		{ "TT", "VTT for " },
		{ "TI", "typeinfo for " },
		{ "TS", "typeinfo name for " },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!itanium_take_text(p, rows[i].code))
			continue;
		*ret = special(p, rows[i].text, itanium_type(p));
		return true;
	}
	return false;
}

static bool special_of_name(struct itanium *p, uint32_t *ret)
{
	static const struct {
		const char *code, *text;
	} rows[] = {
		{ "TW", "TLS wrapper function for " },
		{ "TH", "TLS init function for " },
		{ "GV", "guard variable for " },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!itanium_take_text(p, rows[i].code))
			continue;
		*ret = special(p, rows[i].text, itanium_name(p, NULL));
		return true;
	}
	return false;
}

static uint32_t reference_temporary(struct itanium *p)
{
	uint32_t name = itanium_name(p, NULL);

	while (!p->bad && itanium_peek(p) && !itanium_take(p, '_'))
		p->at++;
	return special(p, "reference temporary #0 for ", name);
}

static uint32_t special_name(struct itanium *p)
{
	uint32_t ret;

	if (special_of_type(p, &ret) || special_of_name(p, &ret))
		return ret;
	if (itanium_take_text(p, "TC"))
		return construction_vtable(p);
	if (itanium_take_text(p, "Tc"))
		return thunk(p, "covariant return thunk to ", 2);
	if (itanium_peek(p) == 'T' && itanium_peek_at(p, 1) == 'h') {
		p->at++;
		return thunk(p, "non-virtual thunk to ", 1);
	}
	if (itanium_peek(p) == 'T' && itanium_peek_at(p, 1) == 'v') {
		p->at++;
		return thunk(p, "virtual thunk to ", 1);
	}
	if (itanium_take_text(p, "TA"))
		return special(p, "template parameter object for ", itanium_template_arg(p));
	if (itanium_take_text(p, "GR"))
		return reference_temporary(p);
	if (itanium_take_text(p, "GA"))
		return special(p, "hidden alias for ", itanium_encoding(p));
	if (itanium_take_text(p, "GTt"))
		return special(p, "transaction clone for ", itanium_encoding(p));
	if (itanium_take_text(p, "GTn"))
		return special(p, "non-transaction clone for ", itanium_encoding(p));
	return itanium_fail(p);
}

/* ---- a name with what it stands for ---- */

static bool is_end(const struct itanium *p)
{
	char c = itanium_peek(p);

	return c == '\0' || c == 'E' || c == '.';
}

static uint32_t function_parameters(struct itanium *p)
{
	uint32_t first = 0, last = 0;

	if (itanium_peek(p) == 'v') {
		p->at++;
		return 0;
	}
	do
		itanium_append(p, &first, &last, itanium_type(p));
	while (!p->bad && !is_end(p));
	return first;
}

/* Parameters that the name used before their arguments came. */
static void resolve_forwards(struct itanium *p, size_t first)
{
	const uint32_t *forwards = (const void *)p->forwards.data;
	const uint32_t *arguments = (const void *)p->arguments.data;

	for (size_t i = first; i < p->forwards.len / sizeof *forwards && !p->bad; i++) {
		struct node *node = itanium_node(p, forwards[i]);

		if (node->number < p->arguments.len / sizeof *arguments)
			node->left = arguments[node->number];
		else
			itanium_fail(p);
	}
	p->forwards.len = first * sizeof *forwards;
}

static uint32_t plain_encoding(struct itanium *p)
{
	struct node function = { .kind = NODE_FUNCTION };
	size_t forwards = p->forwards.len / sizeof(uint32_t);
	struct name_facts facts;
	uint32_t name = itanium_name(p, &facts);

	resolve_forwards(p, forwards);
	if (p->bad || is_end(p))
		return name;
	if (facts.is_template && !facts.has_no_return)
		function.left = itanium_type(p);
	function.right = function_parameters(p);
	return itanium_add(p, (struct node){ .kind = NODE_ENCODING,
					     .left = name,
					     .right = itanium_add(p, function),
					     .number = p->argument_list });
}

uint32_t itanium_encoding(struct itanium *p)
{
	struct buf outer = p->arguments;
	uint32_t outer_list = p->argument_list;
	unsigned lambda_depth = p->lambda_depth;
	uint32_t encoding = 0;

	p->arguments = (struct buf){ 0 };
	p->argument_list = 0;
	p->lambda_depth = 0;
	if (itanium_enter(p)) {
		if (itanium_peek(p) == 'T' || itanium_peek(p) == 'G')
			encoding = special_name(p);
		else
			encoding = plain_encoding(p);
	}
	itanium_leave(p);
	buf_fini(&p->arguments);
	p->arguments = outer;
	p->argument_list = outer_list;
	p->lambda_depth = lambda_depth;
	return encoding;
}
