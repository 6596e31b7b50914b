/* SPDX-License-Identifier: MIT */
/*
 * itanium_print: the tree of a C++ name as text. Types have a part before and one behind the
 * name that they are the type of: "int (*" name ") [5]".
 */
#ifndef SYMBOL_DEMANGLE_ITANIUM_PRINT_H
#define SYMBOL_DEMANGLE_ITANIUM_PRINT_H

#include "symbol/demangle/itanium_tree.h"

#define PRINT_NO_PACK (-1)
#define PRINT_MAX_HOPS 1000 /* from a node to what it stands for */

struct printer {
	const struct node *nodes; /* of the tree */
	struct buf *out;
	size_t begin; /* out->len at first */
	unsigned depth, steps;
	int64_t element;    /* of the packs in an expansion, or PRINT_NO_PACK */
	uint32_t arguments; /* list: of the function that is written */
	bool is_lambda;     /* in the parameters of a lambda */
	bool bad;
};

/* ---- text ---- */

void print_text(struct printer *w, const char *text, size_t len);
void print_str(struct printer *w, const char *text);
void print_number(struct printer *w, uint32_t number);
char print_last_char(const struct printer *w); /* '\0': none was written */

/* ---- the tree ---- */

static inline const struct node *print_get(const struct printer *w, uint32_t id)
{
	return w->nodes + id;
}

/* Steps through what only stands for something else; from a pack to its element that is being
 * written. 0: there is no such element. */
uint32_t print_resolve(const struct printer *w, uint32_t id);
int64_t print_list_size(const struct printer *w, uint32_t list);
/* The number of elements of the first parameter in a tree that is a pack; -1: there is none. */
int64_t print_pack_size(struct printer *w, uint32_t id);

/* ---- nodes ---- */

void print_node(struct printer *w, uint32_t id); /* left and right */
void print_left(struct printer *w, uint32_t id);
void print_right(struct printer *w, uint32_t id);
/* With ", " between; elements that write nothing (empty packs) get none. */
void print_list(struct printer *w, uint32_t list);
void print_parameters(struct printer *w, const struct node *function);
/* The part before a function's name: "int ", but "void (*" of one that returns a pointer to a
 * function, "void (*name(int))(char)". */
void print_return_type(struct printer *w, uint32_t id);
void print_qualifiers(struct printer *w, uint32_t qualifiers); /* QUALIFIER_... */

/* Names, and expressions. false: it is of another kind, nothing was written. */
bool print_name(struct printer *w, const struct node *n);
bool print_expression(struct printer *w, const struct node *n);

#endif
