/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium_print.h"

/* The last part of a class' name, without arguments: what its constructor is called. */
static void put_base_name(struct printer *w, uint32_t id)
{
	for (int hops = 0; hops < PRINT_MAX_HOPS; hops++) {
		const struct node *n;

		id = print_resolve(w, id);
		n = print_get(w, id);
		if (n->kind == NODE_SCOPED) {
			id = n->right;
		} else if (n->kind == NODE_TEMPLATE || n->kind == NODE_TAGGED) {
			id = n->left;
		} else if (n->kind == NODE_STD) {
			print_str(w, std_names[n->number].last);
			return;
		} else {
			print_node(w, id);
			return;
		}
	}
	w->bad = true;
}

static void put_arguments(struct printer *w, uint32_t list)
{
	int64_t outer = w->element;

	if (print_last_char(w) == '<')
		print_str(w, " ");
	print_str(w, "<");
	print_list(w, list);
	if (print_last_char(w) == '>')
		print_str(w, " ");
	print_str(w, ">");
	w->element = outer;
}

/* "operator new", "operator()" */
static void put_operator(struct printer *w, const struct node *n)
{
	size_t len = n->len;

	print_str(w, "operator");
	if (n->text[0] >= 'a' && n->text[0] <= 'z')
		print_str(w, " ");
	if (len && n->text[len - 1] == ' ')
		len--;
	print_text(w, n->text, len);
}

static void put_numbered(struct printer *w, const char *text, uint32_t number)
{
	print_str(w, text);
	print_number(w, number);
	print_str(w, "}");
}

static void put_lambda(struct printer *w, const struct node *n)
{
	bool is_outer = w->is_lambda;

	print_str(w, "{lambda(");
	w->is_lambda = true;
	print_list(w, n->right);
	w->is_lambda = is_outer;
	print_str(w, ")#");
	print_number(w, n->number);
	print_str(w, "}");
}

/* Of the member function that a name ends with. */
static uint32_t name_qualifiers(const struct printer *w, uint32_t id)
{
	for (int hops = 0; hops < PRINT_MAX_HOPS; hops++) {
		const struct node *n = print_get(w, id);

		if (n->kind == NODE_MEMBER_FUNCTION)
			return n->number;
		if (n->kind != NODE_SCOPED && n->kind != NODE_DEFAULT)
			return 0;
		id = n->kind == NODE_SCOPED ? n->right : n->left;
	}
	return 0;
}

/* RETURN NAME(PARAMETERS) QUALIFIERS, within the brackets of a return type that has some */
static void put_encoding(struct printer *w, const struct node *n)
{
	const struct node *function = print_get(w, n->right);
	uint32_t outer = w->arguments;
	bool is_outer = w->is_lambda;

	w->arguments = n->number;
	w->is_lambda = false;
	if (function->left)
		print_return_type(w, function->left);
	print_node(w, n->left);
	print_parameters(w, function);
	print_qualifiers(w, function->number | name_qualifiers(w, n->left));
	if (function->left)
		print_right(w, function->left);
	w->arguments = outer;
	w->is_lambda = is_outer;
}

static void put_words(struct printer *w, const struct node *n)
{
	print_text(w, n->text, n->len);
}

static void put_scoped(struct printer *w, const struct node *n)
{
	print_node(w, n->left);
	print_str(w, "::");
	print_node(w, n->right);
}

static void put_template(struct printer *w, const struct node *n)
{
	print_node(w, n->left);
	put_arguments(w, n->right);
}

static void put_std(struct printer *w, const struct node *n)
{
	print_str(w, n->right ? std_names[n->number].full : std_names[n->number].text);
}

static void put_structor(struct printer *w, const struct node *n)
{
	print_str(w, n->kind == NODE_DTOR ? "~" : "");
	put_base_name(w, n->left);
}

static void put_conversion(struct printer *w, const struct node *n)
{
	print_str(w, n->kind == NODE_CONVERT ? "operator " : "operator\"\" ");
	print_node(w, n->left);
}

static void put_unnamed(struct printer *w, const struct node *n)
{
	put_numbered(w, "{unnamed type#", n->number);
}

static void put_binding(struct printer *w, const struct node *n)
{
	print_str(w, "[");
	print_list(w, n->right);
	print_str(w, "]");
}

static void put_tagged(struct printer *w, const struct node *n)
{
	print_node(w, n->left);
	print_str(w, "[abi:");
	print_node(w, n->right);
	print_str(w, "]");
}

static void put_default(struct printer *w, const struct node *n)
{
	put_numbered(w, "{default arg#", n->number);
	print_str(w, "::");
	print_node(w, n->left);
}

static void put_special(struct printer *w, const struct node *n)
{
	print_text(w, n->text, n->len);
	print_node(w, n->left);
}

static void put_vtable_in(struct printer *w, const struct node *n)
{
	print_str(w, "construction vtable for ");
	print_node(w, n->right);
	print_str(w, "-in-");
	print_node(w, n->left);
}

static void put_member_function(struct printer *w, const struct node *n)
{
	print_node(w, n->left);
}

static void put_clone(struct printer *w, const struct node *n)
{
	print_node(w, n->left);
	print_str(w, " [clone ");
	print_text(w, n->text, n->len);
	print_str(w, "]");
}

bool print_name(struct printer *w, const struct node *n)
{
	static void (*const writers[NODE_KIND_COUNT])(struct printer * w, const struct node *n) = {
		[NODE_TEXT] = put_words,
		[NODE_BUILTIN] = put_words,
		[NODE_SCOPED] = put_scoped,
		[NODE_TEMPLATE] = put_template,
		[NODE_STD] = put_std,
		[NODE_CTOR] = put_structor,
		[NODE_DTOR] = put_structor,
		[NODE_OPERATOR] = put_operator,
		[NODE_CONVERT] = put_conversion,
		[NODE_LITERAL_OPERATOR] = put_conversion,
		[NODE_UNNAMED] = put_unnamed,
		[NODE_LAMBDA] = put_lambda,
		[NODE_BINDING] = put_binding,
		[NODE_TAGGED] = put_tagged,
		[NODE_DEFAULT] = put_default,
		[NODE_SPECIAL] = put_special,
		[NODE_VTABLE_IN] = put_vtable_in,
		[NODE_MEMBER_FUNCTION] = put_member_function,
		[NODE_ENCODING] = put_encoding,
		[NODE_CLONE] = put_clone,
	};

	if (!writers[n->kind])
		return false;
	writers[n->kind](w, n);
	return true;
}
