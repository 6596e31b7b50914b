/* SPDX-License-Identifier: MIT */
/*
 * rust_v0: the reader of Rust's v0 mangling, which writes while it reads: paths (rust_v0.c),
 * types and constants (rust_v0_type.c).
 */
#ifndef SYMBOL_DEMANGLE_RUST_V0_H
#define SYMBOL_DEMANGLE_RUST_V0_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define V0_MAX_DEPTH 160 /* of types within types */

/* A name while it is read and written at once. */
struct v0 {
	const char *text; /* [0..len), behind "_R" */
	size_t len, at;
	struct buf *out;
	size_t limit; /* of out->len */
	unsigned depth, steps;
	uint64_t lifetimes; /* bound by the binders around */
	bool is_quiet;      /* read without writing */
	bool bad;
};

struct identifier {
	const char *text; /* [0..len) */
	size_t len;
	bool is_punycode;
};

/* ---- reading ---- */

char v0_peek(const struct v0 *v); /* '\0' at the end */
char v0_take(struct v0 *v);
bool v0_take_if(struct v0 *v, char c); /* when it is there */
int v0_digit(char c);                  /* of base 62; -1: none */
uint64_t v0_take_base62(struct v0 *v); /* "_" is 0, "0_" is 1 */
struct identifier v0_take_identifier(struct v0 *v);

/* Opens a level of recursion, which ends with depth--. false: too deep, or too long. */
bool v0_enter(struct v0 *v);
/* Behind 'B': reads what stands at an earlier place, and comes back. */
void v0_follow(struct v0 *v, void (*read)(struct v0 *v));

/* ---- writing ---- */

void v0_put_n(struct v0 *v, const char *text, size_t len);
void v0_put(struct v0 *v, const char *text);
void v0_put_number(struct v0 *v, uint64_t number);
void v0_put_identifier(struct v0 *v, struct identifier id);

/* ---- the grammar: each reads and writes what its name says ---- */

void v0_put_path(struct v0 *v, bool is_value); /* is_value: generic arguments behind "::" */
void v0_put_path_of(struct v0 *v, char tag, bool is_value); /* behind its tag */
void v0_put_type(struct v0 *v);
void v0_put_const(struct v0 *v);
void v0_put_generic_arg(struct v0 *v);
void v0_put_lifetime(struct v0 *v, uint64_t index);
void v0_put_binder(struct v0 *v); /* "for<'a, 'b> " */
/* Elements up to 'E', with ", " between them. Returns their count. */
size_t v0_put_list(struct v0 *v, void (*read)(struct v0 *v));

#endif
