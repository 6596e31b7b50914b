/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_tree.h"

#include <string.h>

#include "base/number.h"

/* How an operator's operands follow it in an expression. */
enum shape {
	NAME_ONLY, /* in names of functions only, or handled by itself */
	PREFIX,
	BINARY,
	ACCESS,   /* left.right */
	STEP,     /* ++ and --: a '_' marks the prefix form */
	OF_TYPE,  /* sizeof (type) */
	OF_VALUE, /* sizeof (expression) */
	CAST,     /* static_cast<type>(expression) */
	PLAIN,    /* no operands */
	NEW,
};

/* Sorted by code, for people. */
static const struct operation {
	char code[3];
	const char *text;
	enum shape shape;
} operators[] = {
	{ "aN", "&=", BINARY },
	{ "aS", "=", BINARY },
	{ "aa", "&&", BINARY },
	{ "ad", "&", PREFIX },
	{ "an", "&", BINARY },
	{ "at", "alignof ", OF_TYPE },
	{ "aw", "co_await ", PREFIX },
	{ "az", "alignof ", OF_VALUE },
	{ "cc", "const_cast", CAST },
	{ "cl", "()", NAME_ONLY },
	{ "cm", ",", BINARY },
	{ "co", "~", PREFIX },
	{ "dV", "/=", BINARY },
	{ "da", "delete[] ", PREFIX },
	{ "dc", "dynamic_cast", CAST },
	{ "de", "*", PREFIX },
	{ "dl", "delete ", PREFIX },
	{ "ds", ".*", BINARY },
	{ "dt", ".", ACCESS },
	{ "dv", "/", BINARY },
	{ "eO", "^=", BINARY },
	{ "eo", "^", BINARY },
	{ "eq", "==", BINARY },
	{ "ge", ">=", BINARY },
	{ "gs", "::", PREFIX },
	{ "gt", ">", BINARY },
	{ "ix", "[]", NAME_ONLY },
	{ "lS", "<<=", BINARY },
	{ "le", "<=", BINARY },
	{ "ls", "<<", BINARY },
	{ "lt", "<", BINARY },
	{ "mI", "-=", BINARY },
	{ "mL", "*=", BINARY },
	{ "mi", "-", BINARY },
	{ "ml", "*", BINARY },
	{ "mm", "--", STEP },
	{ "na", "new[]", NEW },
	{ "ne", "!=", BINARY },
	{ "ng", "-", PREFIX },
	{ "nt", "!", PREFIX },
	{ "nw", "new", NEW },
	{ "nx", "noexcept", OF_VALUE },
	{ "oR", "|=", BINARY },
	{ "oo", "||", BINARY },
	{ "or", "|", BINARY },
	{ "pL", "+=", BINARY },
	{ "pl", "+", BINARY },
	{ "pm", "->*", BINARY },
	{ "pp", "++", STEP },
	{ "ps", "+", PREFIX },
	{ "pt", "->", ACCESS },
	{ "qu", "?", NAME_ONLY },
	{ "rM", "%=", BINARY },
	{ "rS", ">>=", BINARY },
	{ "rc", "reinterpret_cast", CAST },
	{ "rm", "%", BINARY },
	{ "rs", ">>", BINARY },
	{ "sc", "static_cast", CAST },
	{ "ss", "<=>", BINARY },
	{ "st", "sizeof ", OF_TYPE },
	{ "sz", "sizeof ", OF_VALUE },
	{ "te", "typeid ", OF_VALUE },
	{ "ti", "typeid ", OF_TYPE },
	{ "tr", "throw", PLAIN },
	{ "tw", "throw ", PREFIX },
};

static const struct operation *find_operator(const struct itanium *p)
{
	char first = itanium_peek(p), second = itanium_peek_at(p, 1);

	for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
		if (operators[i].code[0] == first && operators[i].code[1] == second)
			return &operators[i];
	return NULL;
}

const char *itanium_operator(struct itanium *p)
{
	const struct operation *found = find_operator(p);

	if (!found)
		return NULL;
	p->at += 2;
	return found->text;
}

static uint32_t add_worded(struct itanium *p, enum node_kind kind, const char *text, uint32_t left,
			   uint32_t right)
{
	return itanium_add(p, (struct node){ .kind = kind,
					     .text = text,
					     .len = (uint32_t)strlen(text),
					     .left = left,
					     .right = right });
}

/* Expressions up to end, which is taken. */
static uint32_t expression_list(struct itanium *p, char end)
{
	uint32_t first = 0, last = 0;

	while (!p->bad && !itanium_take(p, end))
		itanium_append(p, &first, &last, itanium_expression(p));
	return first;
}

/* ---- literals ---- */

/* Digits, 'n' before them for a minus; of floating point in hexadecimal. */
static uint32_t literal_value(struct itanium *p, uint32_t type)
{
	struct node node = { .kind = NODE_LITERAL, .left = type };

	node.number = itanium_take(p, 'n');
	node.text = p->text + p->at;
	while (itanium_peek(p) != 'E' && itanium_peek(p))
		p->at++;
	node.len = (uint32_t)(p->text + p->at - node.text);
	if (!itanium_take(p, 'E'))
		return itanium_fail(p);
	return itanium_add(p, node);
}

/* L TYPE VALUE E | L _Z ENCODING E */
uint32_t itanium_literal(struct itanium *p)
{
	uint32_t id;

	if (!itanium_take(p, 'L'))
		return itanium_fail(p);
	if (itanium_take_text(p, "_Z") || itanium_take(p, 'Z')) {
		id = itanium_encoding(p);
		return itanium_take(p, 'E') ? id : itanium_fail(p);
	}
	id = itanium_type(p);
	return p->bad ? 0 : literal_value(p, id);
}

/* ---- names ---- */

static uint32_t with_arguments(struct itanium *p, uint32_t name)
{
	uint32_t args;

	if (itanium_peek(p) != 'I')
		return name;
	args = itanium_template_args(p, false);
	return itanium_add_pair(p, NODE_TEMPLATE, name, args);
}

static uint32_t simple_name(struct itanium *p)
{
	uint32_t name;

	if (itanium_take_text(p, "dn")) { /* a destructor */
		name = number_is_digit(itanium_peek(p)) ? simple_name(p) : itanium_type(p);
		return itanium_add_pair(p, NODE_DTOR, name, 0);
	}
	itanium_take_text(p, "on");
	name = itanium_unqualified(p, 0, NULL);
	return with_arguments(p, name);
}

/* NAME... E */
static uint32_t levels(struct itanium *p, uint32_t scope)
{
	while (!p->bad && !itanium_take(p, 'E')) {
		uint32_t part = simple_name(p);

		scope = scope ? itanium_add_pair(p, NODE_SCOPED, scope, part) : part;
	}
	return scope;
}

/* Is this the end of clang's levels rather than of what a name without them is in? What is behind a
 * class is seldom a template, and "sr3std9is_signedIiEE5value" is common. */
static bool is_end_of_levels(struct itanium *p, uint32_t part)
{
	return itanium_node(p, part)->kind == NODE_TEMPLATE && itanium_peek(p) == 'E' &&
	       number_is_digit(itanium_peek_at(p, 1));
}

/* sr TYPE NAME | srN TYPE NAME... E NAME | NAME; clang also: sr NAME... E NAME */
uint32_t itanium_unresolved(struct itanium *p)
{
	uint32_t scope, part;
	bool is_source_name;

	if (!itanium_take_text(p, "sr"))
		return simple_name(p);
	is_source_name = number_is_digit(itanium_peek(p));
	if (p->has_levels && itanium_take(p, 'N'))
		scope = levels(p, itanium_type(p));
	else if (p->has_levels && is_source_name)
		scope = levels(p, 0);
	else
		scope = itanium_type(p);
	part = simple_name(p);
	if (!p->has_levels && is_source_name && is_end_of_levels(p, part))
		return itanium_fail(p);
	return itanium_add_pair(p, NODE_SCOPED, scope, part);
}

/* fp [qualifiers] [NUMBER] _ | fL NUMBER p [qualifiers] [NUMBER] _ | fpT */
static uint32_t function_parameter(struct itanium *p)
{
	uint32_t number;

	if (itanium_take_text(p, "fpT"))
		return itanium_add(p, (struct node){ .kind = NODE_PARAMETER });
	if (itanium_take_text(p, "fL")) {
		itanium_number(p, &number);
		if (!itanium_take(p, 'p'))
			return itanium_fail(p);
	} else {
		p->at += 2;
	}
	itanium_qualifiers(p);
	return itanium_add(
		p, (struct node){ .kind = NODE_PARAMETER, .number = itanium_sequence(p) + 1 });
}

/* ---- operators ---- */

/* fl OP PACK | fr OP PACK | fL OP A B | fR OP A B: (... + pack), (pack + ...), (a + ... + b) */
static uint32_t fold(struct itanium *p)
{
	char kind = itanium_peek_at(p, 1);
	const char *text;
	uint32_t first, second = 0;

	p->at += 2;
	text = itanium_operator(p);
	if (!text)
		return itanium_fail(p);
	first = itanium_expression(p);
	if (kind == 'L' || kind == 'R')
		second = itanium_expression(p);
	else if (kind == 'l')
		return add_worded(p, NODE_FOLD, text, 0, first);
	return add_worded(p, NODE_FOLD, text, first, second);
}

/* cv TYPE EXPR | cv TYPE _ EXPR... E */
static uint32_t conversion(struct itanium *p)
{
	bool may_take = p->may_take_arguments;
	uint32_t type, value;

	p->may_take_arguments = true;
	type = itanium_type(p);
	p->may_take_arguments = may_take;
	if (itanium_take(p, '_'))
		return itanium_add_pair(p, NODE_CONSTRUCT, type, expression_list(p, 'E'));
	value = itanium_expression(p);
	return itanium_add_pair(p, NODE_CAST, type, value);
}

/* EXPR... _ TYPE (E | pi EXPR... E | il EXPR... E) */
static uint32_t new_expression(struct itanium *p, const char *text)
{
	uint32_t placement = expression_list(p, '_');
	uint32_t type = itanium_type(p), values = 0;

	if (itanium_take_text(p, "pi"))
		values = expression_list(p, 'E');
	else if (itanium_take_text(p, "il"))
		values = itanium_add_pair(p, NODE_INIT, 0, expression_list(p, 'E'));
	else if (!itanium_take(p, 'E'))
		return itanium_fail(p);
	values = itanium_add_pair(p, NODE_LIST, placement, values);
	return add_worded(p, NODE_NEW, text, type, values);
}

static uint32_t binary(struct itanium *p, const struct operation *op)
{
	uint32_t left = itanium_expression(p), right;

	right = op->shape == ACCESS ? itanium_unresolved(p) : itanium_expression(p);
	return add_worded(p, op->shape == ACCESS ? NODE_ACCESS : NODE_BINARY, op->text, left,
			  right);
}

static uint32_t step(struct itanium *p, const struct operation *op)
{
	bool is_before = itanium_take(p, '_');
	uint32_t operand = itanium_expression(p);

	return add_worded(p, is_before ? NODE_PREFIX : NODE_POSTFIX, op->text, operand, 0);
}

static uint32_t cast(struct itanium *p, const struct operation *op)
{
	uint32_t type = itanium_type(p), value = itanium_expression(p);

	return add_worded(p, NODE_AROUND, op->text, value, type);
}

static uint32_t ternary(struct itanium *p)
{
	uint32_t condition = itanium_expression(p);
	uint32_t yes = itanium_expression(p), no = itanium_expression(p);
	uint32_t pair = itanium_add_pair(p, NODE_LIST, yes, no);

	return itanium_add_pair(p, NODE_TERNARY, condition, pair);
}

static uint32_t call(struct itanium *p)
{
	uint32_t callee = itanium_expression(p);

	return itanium_add_pair(p, NODE_CALL, callee, expression_list(p, 'E'));
}

static uint32_t subscript(struct itanium *p)
{
	uint32_t left = itanium_expression(p), right = itanium_expression(p);

	return itanium_add_pair(p, NODE_SUBSCRIPT, left, right);
}

static uint32_t with_operands(struct itanium *p, const struct operation *op)
{
	switch (op->shape) {
	case PREFIX:
		return add_worded(p, NODE_PREFIX, op->text, itanium_expression(p), 0);
	case BINARY:
	case ACCESS:
		return binary(p, op);
	case STEP:
		return step(p, op);
	case OF_TYPE:
		return add_worded(p, NODE_AROUND, op->text, itanium_type(p), 0);
	case OF_VALUE:
		return add_worded(p, NODE_AROUND, op->text, itanium_expression(p), 0);
	case CAST:
		return cast(p, op);
	case PLAIN:
		return itanium_add_text(p, op->text);
	case NEW:
		return new_expression(p, op->text);
	case NAME_ONLY:
		break;
	}
	return itanium_fail(p);
}

static uint32_t operation(struct itanium *p)
{
	const struct operation *op;

	if (itanium_take_text(p, "cv"))
		return conversion(p);
	if (itanium_take_text(p, "cl") || itanium_take_text(p, "cp"))
		return call(p);
	if (itanium_take_text(p, "ix"))
		return subscript(p);
	if (itanium_take_text(p, "qu"))
		return ternary(p);
	if (itanium_take_text(p, "il"))
		return itanium_add_pair(p, NODE_INIT, 0, expression_list(p, 'E'));
	if (itanium_take_text(p, "tl")) {
		uint32_t type = itanium_type(p);

		return itanium_add_pair(p, NODE_INIT, type, expression_list(p, 'E'));
	}
	op = find_operator(p);
	if (!op)
		return itanium_fail(p);
	p->at += 2;
	return with_operands(p, op);
}

/* sp EXPR: a pack in an expression; sZ PACK, sP ARG... E: how many elements it has */
static uint32_t pack_operation(struct itanium *p)
{
	uint32_t id, first = 0, last = 0;

	if (itanium_take_text(p, "sp")) {
		id = itanium_expression(p);
		return itanium_add_pair(p, NODE_EXPANSION, id, 0);
	}
	if (itanium_take_text(p, "sZ")) {
		id = itanium_expression(p);
		return itanium_add_pair(p, NODE_COUNT, id, 0);
	}
	p->at += 2;
	while (!p->bad && !itanium_take(p, 'E'))
		itanium_append(p, &first, &last, itanium_template_arg(p));
	id = itanium_add_pair(p, NODE_PACK, 0, first);
	return itanium_add_pair(p, NODE_COUNT, id, 0);
}

static bool is_fold(const struct itanium *p)
{
	char kind = itanium_peek_at(p, 1);

	return itanium_peek(p) == 'f' && (kind == 'l' || kind == 'r' || kind == 'R' ||
					  (kind == 'L' && !number_is_digit(itanium_peek_at(p, 2))));
}

static uint32_t any_expression(struct itanium *p)
{
	char c = itanium_peek(p), next = itanium_peek_at(p, 1);

	if (c == 'L')
		return itanium_literal(p);
	if (c == 'T')
		return itanium_template_param(p);
	if (is_fold(p))
		return fold(p);
	if (c == 'f')
		return next == 'p' || next == 'L' ? function_parameter(p) : itanium_fail(p);
	if (c == 's' && (next == 'p' || next == 'Z' || next == 'P'))
		return pack_operation(p);
	if ((c == 's' && next == 'r') || number_is_digit(c) || (c == 'o' && next == 'n') ||
	    (c == 'd' && next == 'n'))
		return itanium_unresolved(p);
	return operation(p);
}

uint32_t itanium_expression(struct itanium *p)
{
	uint32_t id = 0;

	if (itanium_enter(p))
		id = any_expression(p);
	itanium_leave(p);
	return id;
}
