/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_print.h"

#include <string.h>

#include "base/macros.h"
#include "symbol/demangle/limits.h"

#define MAX_DEPTH 1000   /* of nodes within nodes; arguments put trees into trees */
#define MAX_STEPS 500000 /* a small tree can refer to its parts again and again */

void print_text(struct printer *w, const char *text, size_t len)
{
	if (w->bad)
		return;
	buf_put(w->out, text, len);
	if (w->out->len - w->begin > DEMANGLE_MAX)
		w->bad = true;
}

void print_str(struct printer *w, const char *text)
{
	print_text(w, text, strlen(text));
}

void print_number(struct printer *w, uint32_t number)
{
	if (!w->bad)
		buf_put_uint(w->out, number);
}

char print_last_char(const struct printer *w)
{
	return w->out->len > w->begin ? w->out->data[w->out->len - 1] : '\0';
}

static bool enter(struct printer *w)
{
	if (++w->depth > MAX_DEPTH || ++w->steps > MAX_STEPS)
		w->bad = true;
	return !w->bad;
}

/* The element of a list, from 0; 0: it is shorter. */
static uint32_t element_of(const struct printer *w, uint32_t list, int64_t index)
{
	while (list && index--)
		list = print_get(w, list)->right;
	return list ? print_get(w, list)->left : 0;
}

/* Steps through what only stands for something else, but for packs. */
static uint32_t resolve_parameter(const struct printer *w, uint32_t id)
{
	for (int hops = 0; hops < PRINT_MAX_HOPS; hops++) {
		const struct node *n = print_get(w, id);

		if (n->kind == NODE_PARAMETER_OF)
			id = n->left;
		else if (n->kind == NODE_AUTO && !w->is_lambda && w->arguments)
			return element_of(w, w->arguments, n->number - 1);
		else
			return id;
	}
	return 0;
}

uint32_t print_resolve(const struct printer *w, uint32_t id)
{
	uint32_t found = resolve_parameter(w, id);
	enum node_kind kind = print_get(w, found)->kind;
	bool is_pack = kind == NODE_PARAMETER_PACK || (kind == NODE_PACK && found != id);

	if (!is_pack || w->element == PRINT_NO_PACK)
		return found;
	return resolve_parameter(w, element_of(w, print_get(w, found)->right, w->element));
}

/* ---- lists ---- */

void print_list(struct printer *w, uint32_t list)
{
	bool is_first = true;

	for (; list && !w->bad; list = print_get(w, list)->right) {
		size_t before = w->out->len, after;

		if (!is_first)
			print_str(w, ", ");
		after = w->out->len;
		print_node(w, print_get(w, list)->left);
		if (w->out->len == after)
			w->out->len = before;
		else
			is_first = false;
	}
}

int64_t print_list_size(const struct printer *w, uint32_t list)
{
	int64_t size = 0;

	for (; list; list = print_get(w, list)->right)
		size++;
	return size;
}

int64_t print_pack_size(struct printer *w, uint32_t id)
{
	uint32_t found = resolve_parameter(w, id);
	const struct node *n = print_get(w, found);
	int64_t size = -1;

	if (!found || n->kind == NODE_EXPANSION)
		return -1;
	if (n->kind == NODE_PARAMETER_PACK || (n->kind == NODE_PACK && found != id))
		return print_list_size(w, n->right);
	if (enter(w)) {
		size = print_pack_size(w, n->left);
		if (size < 0)
			size = print_pack_size(w, n->right);
	}
	w->depth--;
	return size;
}

static void put_expansion(struct printer *w, const struct node *n)
{
	int64_t outer = w->element, size;
	bool is_first = true;

	w->element = PRINT_NO_PACK;
	size = print_pack_size(w, n->left);
	if (size < 0) {
		w->element = outer;
		print_node(w, n->left);
		print_str(w, "...");
	}
	for (int64_t i = 0; i < size && !w->bad; i++) {
		size_t before = w->out->len, after;

		w->element = i;
		if (!is_first)
			print_str(w, ", ");
		after = w->out->len;
		print_node(w, n->left);
		if (w->out->len == after)
			w->out->len = before;
		else
			is_first = false;
	}
	w->element = outer;
}

/* ---- types ---- */

/* Is this a function or an array behind qualifiers? Pointers to those need brackets. */
static enum node_kind declarator(const struct printer *w, uint32_t id)
{
	for (int hops = 0; hops < PRINT_MAX_HOPS; hops++) {
		const struct node *n;

		id = print_resolve(w, id);
		n = print_get(w, id);
		if (n->kind != NODE_QUALIFIED && n->kind != NODE_SUFFIXED)
			return n->kind;
		id = n->left;
	}
	return NODE_NONE;
}

void print_qualifiers(struct printer *w, uint32_t qualifiers)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} rows[] = {
		{ QUALIFIER_CONST, " const" },       { QUALIFIER_VOLATILE, " volatile" },
		{ QUALIFIER_RESTRICT, " restrict" }, { QUALIFIER_LVALUE, " &" },
		{ QUALIFIER_RVALUE, " &&" },         { QUALIFIER_TRANSACTION, " transaction_safe" },
		{ QUALIFIER_NOEXCEPT, " noexcept" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (qualifiers & rows[i].bit)
			print_str(w, rows[i].text);
}

/* What an argument brings along is not said twice: const T where T is const already. */
static void put_qualified(struct printer *w, const struct node *n)
{
	const struct node *inner = print_get(w, print_resolve(w, n->left));

	print_left(w, n->left);
	print_qualifiers(w, inner->kind == NODE_QUALIFIED ? n->number & ~inner->number : n->number);
}

/* & and && of a type that is a reference itself. */
static bool is_lvalue(const struct printer *w, const struct node *n, uint32_t *ret_inner)
{
	bool is = n->kind == NODE_LVALUE;

	*ret_inner = n->left;
	for (int hops = 0; hops < PRINT_MAX_HOPS; hops++) {
		const struct node *inner = print_get(w, print_resolve(w, *ret_inner));

		if (inner->kind != NODE_LVALUE && inner->kind != NODE_RVALUE)
			break;
		is |= inner->kind == NODE_LVALUE;
		*ret_inner = inner->left;
	}
	return is;
}

static void put_pointer(struct printer *w, uint32_t inner, const char *sign)
{
	enum node_kind kind = declarator(w, inner);

	print_left(w, inner);
	if (kind == NODE_ARRAY)
		print_str(w, " (");
	else if (kind == NODE_FUNCTION)
		print_str(w, "(");
	print_str(w, sign);
}

static void put_behind_pointer(struct printer *w, uint32_t inner)
{
	enum node_kind kind = declarator(w, inner);

	if (kind == NODE_ARRAY || kind == NODE_FUNCTION)
		print_str(w, ")");
	print_right(w, inner);
}

static void put_member_pointer(struct printer *w, const struct node *n)
{
	enum node_kind kind = declarator(w, n->right);

	print_left(w, n->right);
	print_str(w, kind == NODE_FUNCTION ? "(" : kind == NODE_ARRAY ? " (" : " ");
	print_node(w, n->left);
	print_str(w, "::*");
}

void print_return_type(struct printer *w, uint32_t id)
{
	const struct node *n = print_get(w, print_resolve(w, id));
	enum node_kind inner = NODE_NONE;

	if (n->kind == NODE_POINTER || n->kind == NODE_LVALUE || n->kind == NODE_RVALUE)
		inner = declarator(w, n->left);
	else if (n->kind == NODE_MEMBER)
		inner = declarator(w, n->right);
	print_left(w, id);
	if (inner != NODE_FUNCTION && inner != NODE_ARRAY)
		print_str(w, " ");
}

void print_parameters(struct printer *w, const struct node *function)
{
	int64_t outer = w->element;

	print_str(w, "(");
	print_list(w, function->right);
	print_str(w, ")");
	w->element = outer;
}

static void put_dimension(struct printer *w, const struct node *n)
{
	if (print_last_char(w) != ']')
		print_str(w, " ");
	print_str(w, "[");
	print_node(w, n->right);
	print_str(w, "]");
	print_right(w, n->left);
}

/* The part of a type that stands before a name. */
static void put_type_left(struct printer *w, const struct node *n)
{
	uint32_t inner;

	switch (n->kind) {
	case NODE_FUNCTION:
		print_return_type(w, n->left);
		return;
	case NODE_QUALIFIED:
		put_qualified(w, n);
		return;
	case NODE_SUFFIXED:
		print_left(w, n->left);
		print_text(w, n->text, n->len);
		if (n->right) {
			print_str(w, " ");
			print_node(w, n->right);
		}
		return;
	case NODE_POINTER:
		put_pointer(w, n->left, "*");
		return;
	case NODE_LVALUE:
	case NODE_RVALUE:
		if (is_lvalue(w, n, &inner))
			put_pointer(w, inner, "&");
		else
			put_pointer(w, inner, "&&");
		return;
	case NODE_ARRAY:
		print_left(w, n->left);
		return;
	case NODE_MEMBER:
		put_member_pointer(w, n);
		return;
	case NODE_VECTOR:
		print_left(w, n->left);
		print_str(w, " __vector(");
		print_node(w, n->right);
		print_str(w, ")");
		return;
	case NODE_AUTO:
		print_str(w, "auto:");
		print_number(w, n->number);
		return;
	case NODE_EXPANSION:
		put_expansion(w, n);
		return;
	case NODE_PACK:
	case NODE_PARAMETER_PACK:
		print_list(w, n->right);
		return;
	default:
		w->bad = true;
	}
}

void print_left(struct printer *w, uint32_t id)
{
	const struct node *n;

	id = print_resolve(w, id);
	if (!id)
		return; /* an element that a shorter pack does not have */
	n = print_get(w, id);
	if (enter(w) && !print_name(w, n) && !print_expression(w, n))
		put_type_left(w, n);
	w->depth--;
}

/* The part of a type that stands behind a name. */
void print_right(struct printer *w, uint32_t id)
{
	const struct node *n = print_get(w, print_resolve(w, id));
	uint32_t inner;

	if (!enter(w)) {
		w->depth--;
		return;
	}
	switch (n->kind) {
	case NODE_FUNCTION:
		print_parameters(w, n);
		print_qualifiers(w, n->number);
		print_right(w, n->left);
		break;
	case NODE_QUALIFIED:
	case NODE_SUFFIXED:
	case NODE_VECTOR:
		print_right(w, n->left);
		break;
	case NODE_POINTER:
		put_behind_pointer(w, n->left);
		break;
	case NODE_LVALUE:
	case NODE_RVALUE:
		is_lvalue(w, n, &inner);
		put_behind_pointer(w, inner);
		break;
	case NODE_ARRAY:
		put_dimension(w, n);
		break;
	case NODE_MEMBER:
		put_behind_pointer(w, n->right);
		break;
	default:
		break;
	}
	w->depth--;
}

void print_node(struct printer *w, uint32_t id)
{
	print_left(w, id);
	print_right(w, id);
}

bool itanium_print(const struct itanium *p, uint32_t root, struct buf *out)
{
	struct printer w = {
		.nodes = itanium_node(p, 0), .out = out, .begin = out->len, .element = PRINT_NO_PACK
	};

	print_node(&w, root);
	return !w.bad;
}
