/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_print.h"

#include <string.h>

#include "base/macros.h"

/* In brackets, unless it is a name or the like. */
static void put_operand(struct printer *w, uint32_t id)
{
	enum node_kind kind = print_get(w, print_resolve(w, id))->kind;
	bool is_simple = kind == NODE_TEXT || kind == NODE_SCOPED || kind == NODE_INIT ||
			 kind == NODE_PARAMETER;

	if (!is_simple)
		print_str(w, "(");
	print_node(w, id);
	if (!is_simple)
		print_str(w, ")");
}

/* The address of a function is that of its name. */
static void put_prefix(struct printer *w, const struct node *n)
{
	const struct node *operand = print_get(w, n->left);

	print_text(w, n->text, n->len);
	if (n->len == 1 && n->text[0] == '&' && operand->kind == NODE_ENCODING)
		print_node(w, operand->left);
	else
		put_operand(w, n->left);
}

static void put_binary(struct printer *w, const struct node *n)
{
	bool is_greater = n->len == 1 && n->text[0] == '>'; /* not the end of arguments */

	if (is_greater)
		print_str(w, "(");
	put_operand(w, n->left);
	print_text(w, n->text, n->len);
	put_operand(w, n->right);
	if (is_greater)
		print_str(w, ")");
}

static void put_ternary(struct printer *w, const struct node *n)
{
	const struct node *pair = print_get(w, n->right);
	uint32_t yes = pair->left, no = pair->right;

	put_operand(w, n->left);
	print_str(w, "?");
	put_operand(w, yes);
	print_str(w, " : ");
	put_operand(w, no);
}

static void put_call(struct printer *w, const struct node *n)
{
	const struct node *callee = print_get(w, n->left);

	if (callee->kind == NODE_ENCODING)
		print_node(w, callee->left);
	else
		put_operand(w, n->left);
	print_str(w, "(");
	print_list(w, n->right);
	print_str(w, ")");
}

static void put_new(struct printer *w, const struct node *n)
{
	const struct node *lists = print_get(w, n->right);
	uint32_t placement = lists->left, values = lists->right;

	print_text(w, n->text, n->len);
	print_str(w, " ");
	if (placement) {
		print_str(w, "(");
		print_list(w, placement);
		print_str(w, ") ");
	}
	print_node(w, n->left);
	if (!values)
		return;
	if (print_get(w, values)->kind == NODE_INIT) {
		print_node(w, values);
		return;
	}
	print_str(w, "(");
	print_list(w, values);
	print_str(w, ")");
}

/* static_cast<TYPE>(VALUE), sizeof (VALUE) */
static void put_around(struct printer *w, const struct node *n)
{
	print_text(w, n->text, n->len);
	if (n->right) {
		print_str(w, "<");
		print_node(w, n->right);
		print_str(w, ">");
	}
	print_str(w, "(");
	print_node(w, n->left);
	print_str(w, ")");
}

static void put_fold(struct printer *w, const struct node *n)
{
	print_str(w, "(");
	if (n->left) {
		put_operand(w, n->left);
		print_text(w, n->text, n->len);
	}
	print_str(w, "...");
	if (n->right || !n->left)
		print_text(w, n->text, n->len);
	if (n->right)
		put_operand(w, n->right);
	print_str(w, ")");
}

static void put_plain_literal(struct printer *w, const struct node *n, const char *suffix)
{
	if (n->number)
		print_str(w, "-");
	print_text(w, n->text, n->len);
	print_str(w, suffix);
}

static void put_literal(struct printer *w, const struct node *n)
{
	const struct node *type = print_get(w, print_resolve(w, n->left));
	uint32_t letter = type->kind == NODE_BUILTIN ? type->number : 0;
	static const struct {
		char letter;
		const char *suffix;
	} rows[] = { { 'i', "" },   { 'j', "u" },  { 'l', "l" },
		     { 'm', "ul" }, { 'x', "ll" }, { 'y', "ull" } };
	bool is_float = letter && strchr("fdeg", (int)letter);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (letter != (uint32_t)rows[i].letter)
			continue;
		put_plain_literal(w, n, rows[i].suffix);
		return;
	}
	if (type->kind == NODE_BUILTIN && !letter && strncmp(type->text, "decltype(n", 10) == 0) {
		print_str(w, "nullptr");
		return;
	}
	if (letter == 'b' && n->len == 1 && !n->number && (*n->text == '0' || *n->text == '1')) {
		print_str(w, *n->text == '1' ? "true" : "false");
		return;
	}
	print_str(w, "(");
	print_node(w, n->left);
	print_str(w, ")");
	if (is_float)
		print_str(w, "[");
	put_plain_literal(w, n, is_float ? "]" : "");
}

static void put_parameter(struct printer *w, const struct node *n)
{
	if (!n->number) {
		print_str(w, "this");
		return;
	}
	print_str(w, "{parm#");
	print_number(w, n->number);
	print_str(w, "}");
}

static void put_count(struct printer *w, const struct node *n)
{
	const struct node *pack = print_get(w, n->left);
	int64_t outer = w->element, size;

	w->element = PRINT_NO_PACK;
	size = pack->kind == NODE_PACK ? print_list_size(w, pack->right)
				       : print_pack_size(w, n->left);
	if (size >= 0) {
		print_number(w, (uint32_t)size);
	} else {
		print_str(w, "sizeof...(");
		print_node(w, n->left);
		print_str(w, ")");
	}
	w->element = outer;
}

static void put_postfix(struct printer *w, const struct node *n)
{
	put_operand(w, n->left);
	print_text(w, n->text, n->len);
}

static void put_access(struct printer *w, const struct node *n)
{
	put_operand(w, n->left);
	print_text(w, n->text, n->len);
	print_node(w, n->right);
}

static void put_subscript(struct printer *w, const struct node *n)
{
	put_operand(w, n->left);
	print_str(w, "[");
	print_node(w, n->right);
	print_str(w, "]");
}

static void put_cast(struct printer *w, const struct node *n)
{
	print_str(w, "(");
	print_node(w, n->left);
	print_str(w, ")");
	put_operand(w, n->right);
}

static void put_construct(struct printer *w, const struct node *n)
{
	print_str(w, "(");
	print_node(w, n->left);
	print_str(w, ")(");
	print_list(w, n->right);
	print_str(w, ")");
}

static void put_init(struct printer *w, const struct node *n)
{
	print_node(w, n->left);
	print_str(w, "{");
	print_list(w, n->right);
	print_str(w, "}");
}

bool print_expression(struct printer *w, const struct node *n)
{
	static void (*const writers[NODE_KIND_COUNT])(struct printer * w, const struct node *n) = {
		[NODE_PREFIX] = put_prefix,       [NODE_POSTFIX] = put_postfix,
		[NODE_BINARY] = put_binary,       [NODE_ACCESS] = put_access,
		[NODE_TERNARY] = put_ternary,     [NODE_CALL] = put_call,
		[NODE_SUBSCRIPT] = put_subscript, [NODE_AROUND] = put_around,
		[NODE_CAST] = put_cast,           [NODE_CONSTRUCT] = put_construct,
		[NODE_INIT] = put_init,           [NODE_NEW] = put_new,
		[NODE_FOLD] = put_fold,           [NODE_PARAMETER] = put_parameter,
		[NODE_LITERAL] = put_literal,     [NODE_COUNT] = put_count,
	};

	if (!writers[n->kind])
		return false;
	writers[n->kind](w, n);
	return true;
}
