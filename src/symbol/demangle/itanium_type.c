/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_tree.h"

#include <string.h>

#include "base/number.h"

uint32_t itanium_qualifiers(struct itanium *p)
{
	uint32_t qualifiers = 0;

	if (itanium_take(p, 'r'))
		qualifiers |= QUALIFIER_RESTRICT;
	if (itanium_take(p, 'V'))
		qualifiers |= QUALIFIER_VOLATILE;
	if (itanium_take(p, 'K'))
		qualifiers |= QUALIFIER_CONST;
	return qualifiers;
}

static bool is_list_end(struct itanium *p, char end)
{
	/* Reference qualifiers of a function's type stand before its end. */
	return itanium_peek(p) == end ||
	       ((itanium_peek(p) == 'R' || itanium_peek(p) == 'O') && itanium_peek_at(p, 1) == end);
}

static uint32_t types_up_to(struct itanium *p, char end)
{
	uint32_t first = 0, last = 0;

	if (itanium_peek(p) == 'v') {
		p->at++;
		return 0;
	}
	while (!p->bad && !is_list_end(p, end))
		itanium_append(p, &first, &last, itanium_type(p));
	return first;
}

uint32_t itanium_type_list(struct itanium *p, char end)
{
	uint32_t list = types_up_to(p, end);

	if (!itanium_take(p, end))
		itanium_fail(p);
	return list;
}

/* Do | DO EXPR E | Dw TYPE... E | Dx: what a function's type says of exceptions. */
static uint32_t exception_specification(struct itanium *p)
{
	if (itanium_take_text(p, "Do"))
		return QUALIFIER_NOEXCEPT;
	if (itanium_take_text(p, "Dx"))
		return QUALIFIER_TRANSACTION;
	if (itanium_take_text(p, "DO")) {
		itanium_expression(p);
		if (!itanium_take(p, 'E'))
			itanium_fail(p);
		return QUALIFIER_NOEXCEPT;
	}
	if (itanium_take_text(p, "Dw"))
		itanium_type_list(p, 'E');
	return 0;
}

/* [exceptions] F [Y] RETURN PARAMETER... [R|O] E */
static uint32_t function_type(struct itanium *p, uint32_t qualifiers)
{
	struct node node = { .kind = NODE_FUNCTION, .number = qualifiers };

	node.number |= exception_specification(p);
	node.number |= exception_specification(p); /* transaction_safe and noexcept */
	if (!itanium_take(p, 'F'))
		return itanium_fail(p);
	itanium_take(p, 'Y'); /* extern "C" */
	node.left = itanium_type(p);
	node.right = types_up_to(p, 'E');
	if (itanium_take(p, 'R'))
		node.number |= QUALIFIER_LVALUE;
	else if (itanium_take(p, 'O'))
		node.number |= QUALIFIER_RVALUE;
	if (!itanium_take(p, 'E'))
		itanium_fail(p);
	return itanium_add(p, node);
}

static bool is_function_type(const struct itanium *p)
{
	char c = itanium_peek(p), next = itanium_peek_at(p, 1);

	return c == 'F' || (c == 'D' && next && strchr("oOwx", next));
}

static uint32_t number_text(struct itanium *p)
{
	struct node node = { .kind = NODE_TEXT, .text = p->text + p->at };
	uint32_t number;

	if (!itanium_number(p, &number))
		return itanium_fail(p);
	node.len = (uint32_t)(p->text + p->at - node.text);
	return itanium_add(p, node);
}

/* A [NUMBER or EXPR] _ TYPE */
static uint32_t array_type(struct itanium *p)
{
	uint32_t dimension = 0, element;

	if (number_is_digit(itanium_peek(p)))
		dimension = number_text(p);
	else if (itanium_peek(p) != '_')
		dimension = itanium_expression(p);
	if (!itanium_take(p, '_'))
		return itanium_fail(p);
	element = itanium_type(p);
	return itanium_add_pair(p, NODE_ARRAY, element, dimension);
}

/* Dv NUMBER _ TYPE | Dv _ EXPR _ TYPE */
static uint32_t vector_type(struct itanium *p)
{
	uint32_t dimension, element;

	if (itanium_take(p, '_'))
		dimension = itanium_expression(p);
	else
		dimension = number_text(p);
	if (!itanium_take(p, '_'))
		return itanium_fail(p);
	element = itanium_type(p);
	return itanium_add_pair(p, NODE_VECTOR, element, dimension);
}

uint32_t itanium_decltype(struct itanium *p)
{
	uint32_t expression;

	p->at += 2; /* Dt or DT */
	expression = itanium_expression(p);
	if (!itanium_take(p, 'E'))
		return itanium_fail(p);
	return itanium_add(p, (struct node){ .kind = NODE_AROUND,
					     .text = "decltype ",
					     .len = 9,
					     .left = expression });
}

/* _FloatN, _FloatNx, std::bfloat16_t; unsigned _BitInt(N) */
static uint32_t sized_type(struct itanium *p, const char *text)
{
	bool is_float = text[1] == 'F';
	uint32_t number = number_text(p);
	struct node node = {
		.kind = NODE_SPECIAL, .text = text, .len = (uint32_t)strlen(text), .left = number
	};

	if (is_float && itanium_take(p, 'b'))
		return itanium_add_text(p, "std::bfloat16_t");
	if (is_float && itanium_take(p, 'x')) {
		number = itanium_add(p, node);
		return itanium_add(
			p, (struct node){
				   .kind = NODE_SUFFIXED, .left = number, .text = "x", .len = 1 });
	}
	if (!itanium_take(p, '_'))
		return itanium_fail(p);
	if (is_float)
		return itanium_add(p, node);
	node.kind = NODE_AROUND; /* "_BitInt(" N ")" */
	return itanium_add(p, node);
}

/* Builtin types of two letters; 0: none of them. */
static uint32_t builtin_d(struct itanium *p)
{
	static const struct {
		const char *code, *text;
	} rows[] = {
		{ "Da", "auto" },      { "Dc", "decltype(auto)" }, { "Dn", "decltype(nullptr)" },
		{ "Di", "char32_t" },  { "Ds", "char16_t" },       { "Du", "char8_t" },
		{ "Dd", "decimal64" }, { "De", "decimal128" },     { "Df", "decimal32" },
		{ "Dh", "half" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (itanium_take_text(p, rows[i].code))
			return itanium_add(p,
					   (struct node){ .kind = NODE_BUILTIN,
							  .text = rows[i].text,
							  .len = (uint32_t)strlen(rows[i].text) });
	if (itanium_take_text(p, "DF"))
		return sized_type(p, "_Float");
	if (itanium_take_text(p, "DB"))
		return sized_type(p, "_BitInt");
	if (itanium_take_text(p, "DU"))
		return sized_type(p, "unsigned _BitInt");
	return 0;
}

/* Builtin types of one letter; 0: none of them. */
static uint32_t builtin(struct itanium *p)
{
	static const char *const names[26] = {
		"signed char",
		"bool",
		"char",
		"double",
		"long double",
		"float",
		"__float128",
		"unsigned char",
		"int",
		"unsigned int",
		NULL,
		"long",
		"unsigned long",
		"__int128",
		"unsigned __int128",
		NULL,
		NULL,
		NULL,
		"short",
		"unsigned short",
		NULL,
		"void",
		"wchar_t",
		"long long",
		"unsigned long long",
		"...",
	};
	char c = itanium_peek(p);
	const char *name = c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;

	if (c == 'D')
		return builtin_d(p);
	if (!name)
		return 0;
	p->at++;
	return itanium_add(p, (struct node){ .kind = NODE_BUILTIN,
					     .text = name,
					     .len = (uint32_t)strlen(name),
					     .number = (uint32_t)c });
}

/* Puts a vendor's word behind a type: "int AS1". */
static uint32_t vendor_qualified(struct itanium *p)
{
	struct node node = { .kind = NODE_SUFFIXED };
	uint32_t name = itanium_source_name(p);

	if (p->bad)
		return 0;
	if (itanium_peek(p) == 'I')
		name = itanium_add_pair(p, NODE_TEMPLATE, name, itanium_template_args(p, false));
	node.left = itanium_type(p);
	node.right = name;
	return itanium_add(p, node);
}

static uint32_t with_arguments(struct itanium *p, uint32_t name)
{
	uint32_t args = itanium_template_args(p, false);

	return itanium_add_pair(p, NODE_TEMPLATE, name, args);
}

/* Ts, Tu, Te: an elaborated class, union or enumeration; else T_. */
static uint32_t param_type(struct itanium *p)
{
	static const struct {
		const char *code, *text;
	} rows[] = { { "Ts", "struct " }, { "Tu", "union " }, { "Te", "enum " } };
	uint32_t id;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (itanium_take_text(p, rows[i].code))
			return itanium_add(p, (struct node){ .kind = NODE_SPECIAL,
							     .text = rows[i].text,
							     .len = (uint32_t)strlen(rows[i].text),
							     .left = itanium_name(p, NULL) });
	id = itanium_template_param(p);
	if (itanium_peek(p) != 'I' || !p->may_take_arguments)
		return id;
	return with_arguments(p, itanium_remember(p, id));
}

/* Of a number, not of a class: "C1Ev" is a constructor, behind a name that was read wrongly. */
static uint32_t complex_type(struct itanium *p, const char *text)
{
	uint32_t inner = number_is_digit(itanium_peek(p)) ? itanium_fail(p) : itanium_type(p);

	return itanium_add(p, (struct node){ .kind = NODE_SUFFIXED,
					     .left = inner,
					     .text = text,
					     .len = (uint32_t)strlen(text) });
}

static uint32_t member_type(struct itanium *p)
{
	uint32_t class = itanium_type(p), type = itanium_type(p);

	return itanium_add_pair(p, NODE_MEMBER, class, type);
}

static uint32_t wrapped(struct itanium *p, enum node_kind kind)
{
	uint32_t inner = itanium_type(p);

	return itanium_add_pair(p, kind, inner, 0);
}

static uint32_t compound_d(struct itanium *p)
{
	if (is_function_type(p))
		return function_type(p, 0);
	if (itanium_take_text(p, "Dp"))
		return wrapped(p, NODE_EXPANSION);
	if (itanium_take_text(p, "Dv"))
		return vector_type(p);
	if (itanium_peek_at(p, 1) == 't' || itanium_peek_at(p, 1) == 'T')
		return itanium_decltype(p);
	return itanium_fail(p);
}

static uint32_t qualified_type(struct itanium *p)
{
	uint32_t qualifiers = itanium_qualifiers(p), inner;

	if (is_function_type(p))
		return function_type(p, qualifiers);
	inner = itanium_type(p);
	return itanium_add(
		p, (struct node){ .kind = NODE_QUALIFIED, .left = inner, .number = qualifiers });
}

/* Types that later ones may refer to. */
static uint32_t compound(struct itanium *p)
{
	char c = itanium_peek(p);

	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return qualified_type(p);
	case 'D':
		return compound_d(p);
	case 'F':
		return function_type(p, 0);
	case 'T':
		return param_type(p);
	case 'U':
		p->at++;
		return vendor_qualified(p);
	case 'u':
		p->at++;
		return itanium_source_name(p);
	case 'A':
		p->at++;
		return array_type(p);
	case 'M':
		p->at++;
		return member_type(p);
	case 'P':
		p->at++;
		return wrapped(p, NODE_POINTER);
	case 'R':
		p->at++;
		return wrapped(p, NODE_LVALUE);
	case 'O':
		p->at++;
		return wrapped(p, NODE_RVALUE);
	case 'C':
		p->at++;
		return complex_type(p, " _Complex");
	case 'G':
		p->at++;
		return complex_type(p, " _Imaginary");
	default:
		return itanium_name(p, NULL);
	}
}

uint32_t itanium_type(struct itanium *p)
{
	uint32_t id = 0;

	if (!itanium_enter(p)) {
		itanium_leave(p);
		return 0;
	}
	if (itanium_peek(p) == 'S' && itanium_peek_at(p, 1) != 't') {
		id = itanium_substitution(p);
		if (itanium_peek(p) == 'I')
			id = itanium_remember(p, with_arguments(p, id));
	} else {
		id = builtin(p);
		if (!id && !p->bad)
			id = itanium_remember(p, compound(p));
	}
	itanium_leave(p);
	return id;
}
