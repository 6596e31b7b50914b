/* SPDX-License-Identifier: MIT */
/*
 * itanium_tree: the tree of a mangled C++ name, and the state of its parser.
 *
 * Nodes are numbered. 0 is "none"; a parser returns it for an invalid name and sets bad. Lists are
 * chains of NODE_LIST.
 */
#ifndef SYMBOL_DEMANGLE_ITANIUM_TREE_H
#define SYMBOL_DEMANGLE_ITANIUM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum node_kind {
	NODE_NONE,
	NODE_LIST,    /* left: element, right: the rest */
	NODE_TEXT,    /* text */
	NODE_BUILTIN, /* text; number: its letter */
	/* names */
	NODE_SCOPED,           /* left::right */
	NODE_TEMPLATE,         /* left<right> */
	NODE_PACK,             /* right: list; the argument of one parameter */
	NODE_PARAMETER_PACK,   /* right: list; a parameter with such an argument */
	NODE_STD,              /* text: "std::string"; number: its row in std_names */
	NODE_CTOR,             /* left: the class */
	NODE_DTOR,             /* left: the class */
	NODE_OPERATOR,         /* text */
	NODE_CONVERT,          /* operator left */
	NODE_LITERAL_OPERATOR, /* operator"" left */
	NODE_UNNAMED,          /* number, from 1 */
	NODE_LAMBDA,           /* right: list of parameter types; number, from 1 */
	NODE_BINDING,          /* right: list of names */
	NODE_TAGGED,           /* left[abi:right] */
	NODE_DEFAULT,          /* {default arg#number}::left */
	NODE_SPECIAL,          /* text, then left */
	NODE_VTABLE_IN,        /* construction vtable for right-in-left */
	NODE_MEMBER_FUNCTION,  /* left: name; number: QUALIFIER_... of the function */
	NODE_ENCODING,         /* left: name, right: NODE_FUNCTION; number: list of the arguments
				* that T_, T0_, ... stand for */
	NODE_CLONE,            /* left [clone text] */
	/* types */
	NODE_FUNCTION,     /* left: return type or none, right: list of parameters; number:
			    * QUALIFIER_... */
	NODE_QUALIFIED,    /* left; number: QUALIFIER_... */
	NODE_SUFFIXED,     /* left text: "int _Complex", vendors' qualifiers */
	NODE_POINTER,      /* left */
	NODE_LVALUE,       /* left& */
	NODE_RVALUE,       /* left&& */
	NODE_ARRAY,        /* left [right] */
	NODE_MEMBER,       /* right left::* */
	NODE_VECTOR,       /* left __vector(right) */
	NODE_AUTO,         /* auto:number in the parameters of a generic lambda; elsewhere the
			    * argument of that number */
	NODE_PARAMETER_OF, /* left: the argument of parameter number, from 0 */
	NODE_EXPANSION,    /* left, for each element of the packs in it */
	/* expressions */
	NODE_PREFIX,    /* text, then left in brackets unless simple */
	NODE_POSTFIX,   /* left, then text */
	NODE_BINARY,    /* left text right */
	NODE_ACCESS,    /* left text right, without brackets around right */
	NODE_TERNARY,   /* left ? right, a pair */
	NODE_CALL,      /* left(right: list) */
	NODE_SUBSCRIPT, /* left[right] */
	NODE_AROUND,    /* text (left): "sizeof (x)"; text<right>(left) when there is right */
	NODE_CAST,      /* (left)right */
	NODE_CONSTRUCT, /* left(right: list) */
	NODE_INIT,      /* left{right: list} */
	NODE_NEW,       /* text; left: type; right: pair of lists, placement and initializers */
	NODE_FOLD,      /* text; left, right: operands; the pack's place is none */
	NODE_PARAMETER, /* {parm#number}; 0: this */
	NODE_LITERAL,   /* left: type, text: digits; number: 1 when negative */
	NODE_COUNT,     /* sizeof...(left) */
	NODE_KIND_COUNT,
};

enum node_qualifier {
	QUALIFIER_RESTRICT = 1,
	QUALIFIER_VOLATILE = 2,
	QUALIFIER_CONST = 4,
	QUALIFIER_LVALUE = 8,  /* of a member function: & */
	QUALIFIER_RVALUE = 16, /* && */
	QUALIFIER_NOEXCEPT = 32,
	QUALIFIER_TRANSACTION = 64, /* transaction_safe */
};

struct node {
	enum node_kind kind;
	uint32_t left, right;
	uint32_t number;
	const char *text; /* [0..len) */
	uint32_t len;
};

/* The abbreviations Sa, Sb, ... */
struct std_name {
	char code;
	const char *text;
	const char *full; /* with its template arguments */
	const char *last; /* what its constructor is called */
};
extern const struct std_name std_names[]; /* ends with code 0 */

/* What is known of the name of a function behind it. */
struct name_facts {
	bool has_no_return; /* constructor, destructor, conversion: its type has no result */
	bool is_template;   /* its name ends with template arguments */
};

struct itanium {
	const char *text; /* [0..len) */
	size_t len, at;
	struct buf nodes;         /* struct node; [0] is none */
	struct buf substitutions; /* uint32_t */
	struct buf arguments;     /* uint32_t: of the template parameters T_, T0_, ... */
	uint32_t argument_list;   /* the same as a list */
	struct buf forwards;      /* uint32_t: NODE_PARAMETER_OF whose argument comes later */
	unsigned depth;
	unsigned lambda_depth;   /* > 0: in the parameters of a lambda */
	bool may_forward;        /* parameters may be used before their arguments are known */
	bool may_take_arguments; /* T_ as a type may be followed by its template arguments */
	bool has_levels;         /* sr is followed by names up to E, as clang writes them */
	bool bad;                /* no mangled name, or too deep, or out of memory */
};

/* ---- reading ---- */

/* '\0' at the end. */
static inline char itanium_peek_at(const struct itanium *p, size_t ahead)
{
	return p->at + ahead < p->len ? p->text[p->at + ahead] : '\0';
}

static inline char itanium_peek(const struct itanium *p)
{
	return itanium_peek_at(p, 0);
}

bool itanium_take(struct itanium *p, char c); /* when it is there */
bool itanium_take_text(struct itanium *p, const char *text);
bool itanium_number(struct itanium *p, uint32_t *ret); /* decimal digits; false: none */
uint32_t itanium_sequence(struct itanium *p);          /* "_" 0, "0_" 1, ...: decimal */

/* Around each parser that may call itself. false: too deep. */
bool itanium_enter(struct itanium *p);
void itanium_leave(struct itanium *p);

/* ---- building ---- */

uint32_t itanium_fail(struct itanium *p); /* 0 */
uint32_t itanium_add(struct itanium *p, struct node node);
uint32_t itanium_add_pair(struct itanium *p, enum node_kind kind, uint32_t left, uint32_t right);
uint32_t itanium_add_text(struct itanium *p, const char *text);
static inline struct node *itanium_node(const struct itanium *p, uint32_t id)
{
	return (struct node *)(void *)p->nodes.data + id; /* until the next add */
}

/* Appends to a list that begins at *first and ends at *last; both 0: empty. */
void itanium_append(struct itanium *p, uint32_t *first, uint32_t *last, uint32_t element);

/* Remembers a component that later ones may refer to. Returns it. */
uint32_t itanium_remember(struct itanium *p, uint32_t id);

/* ---- the grammar: each takes what its name says, and returns a node ---- */

uint32_t itanium_encoding(struct itanium *p);
uint32_t itanium_name(struct itanium *p, struct name_facts *facts);
uint32_t itanium_unqualified(struct itanium *p, uint32_t scope, struct name_facts *facts);
uint32_t itanium_source_name(struct itanium *p);
uint32_t itanium_substitution(struct itanium *p);
/* is_of_name: of the function whose parameters T_ are. */
uint32_t itanium_template_args(struct itanium *p, bool is_of_name); /* a list */
uint32_t itanium_template_arg(struct itanium *p);
uint32_t itanium_template_param(struct itanium *p);
uint32_t itanium_type(struct itanium *p);
uint32_t itanium_decltype(struct itanium *p);
uint32_t itanium_type_list(struct itanium *p, char end); /* takes end; "v" and nothing: 0 */
uint32_t itanium_qualifiers(struct itanium *p);          /* "rVK": QUALIFIER_... */
uint32_t itanium_expression(struct itanium *p);
uint32_t itanium_literal(struct itanium *p);     /* L...E */
const char *itanium_operator(struct itanium *p); /* NULL: none; at is unchanged */
uint32_t itanium_unresolved(struct itanium *p);  /* sr..., on..., or a simple name */

/* ---- writing ---- */

/* false: too long, or too deep. */
bool itanium_print(const struct itanium *p, uint32_t root, struct buf *out);

#endif
