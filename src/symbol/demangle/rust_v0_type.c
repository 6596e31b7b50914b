/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/rust_v0.h"

#include "base/utf8.h"

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
		"usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* extern "C-unwind" is mangled with '_' for '-'. */
static void put_abi(struct v0 *v)
{
	struct identifier id;

	v0_put(v, "extern \"");
	if (v0_take_if(v, 'C')) {
		v0_put(v, "C");
	} else {
		id = v0_take_identifier(v);
		for (size_t i = 0; i < id.len && !id.is_punycode; i++)
			v0_put_n(v, id.text[i] == '_' ? "-" : id.text + i, 1);
	}
	v0_put(v, "\" ");
}

static void put_function_type(struct v0 *v)
{
	uint64_t outer = v->lifetimes;

	v0_put_binder(v);
	if (v0_take_if(v, 'U'))
		v0_put(v, "unsafe ");
	if (v0_take_if(v, 'K'))
		put_abi(v);
	v0_put(v, "fn(");
	v0_put_list(v, v0_put_type);
	v0_put(v, ")");
	if (!v0_take_if(v, 'u')) { /* () is not written */
		v0_put(v, " -> ");
		v0_put_type(v);
	}
	v->lifetimes = outer;
}

/* A trait's path; its list of arguments is left open, for bindings. true: there is one. */
static bool put_open_path(struct v0 *v)
{
	bool is_open = false;

	if (!v0_enter(v)) {
		v->depth--;
		return false;
	}
	if (v0_take_if(v, 'B')) {
		size_t begin = v->at - 1, back;
		uint64_t target = v0_take_base62(v);

		if (v->bad || target >= begin) {
			v->bad = true;
		} else if (!v->is_quiet) {
			back = v->at;
			v->at = target;
			is_open = put_open_path(v);
			v->at = back;
		}
	} else if (v0_take_if(v, 'I')) {
		v0_put_path(v, false);
		v0_put(v, "<");
		v0_put_list(v, v0_put_generic_arg);
		is_open = true;
	} else {
		v0_put_path(v, false);
	}
	v->depth--;
	return is_open;
}

/* "Iterator<Item = u8>" */
static void put_trait(struct v0 *v)
{
	bool is_open = put_open_path(v);

	while (v0_take_if(v, 'p')) {
		v0_put(v, is_open ? ", " : "<");
		is_open = true;
		v0_put_identifier(v, v0_take_identifier(v));
		v0_put(v, " = ");
		v0_put_type(v);
	}
	if (is_open)
		v0_put(v, ">");
}

static void put_dyn(struct v0 *v)
{
	uint64_t outer = v->lifetimes, lifetime;
	bool is_first = true;

	v0_put(v, "dyn ");
	v0_put_binder(v);
	while (!v->bad && !v0_take_if(v, 'E')) {
		if (!is_first)
			v0_put(v, " + ");
		is_first = false;
		put_trait(v);
	}
	v->lifetimes = outer;
	if (!v0_take_if(v, 'L')) {
		v->bad = true;
		return;
	}
	lifetime = v0_take_base62(v);
	if (lifetime) {
		v0_put(v, " + ");
		v0_put_lifetime(v, lifetime);
	}
}

static void put_reference(struct v0 *v, bool is_mutable)
{
	uint64_t lifetime = v0_take_if(v, 'L') ? v0_take_base62(v) : 0;

	v0_put(v, "&");
	if (lifetime) {
		v0_put_lifetime(v, lifetime);
		v0_put(v, " ");
	}
	if (is_mutable)
		v0_put(v, "mut ");
	v0_put_type(v);
}

static void put_sequence(struct v0 *v, bool has_length)
{
	v0_put(v, "[");
	v0_put_type(v);
	if (has_length) {
		v0_put(v, "; ");
		v0_put_const(v);
	}
	v0_put(v, "]");
}

static void put_type_of(struct v0 *v, char tag)
{
	switch (tag) {
	case 'A':
	case 'S':
		put_sequence(v, tag == 'A');
		return;
	case 'T':
		v0_put(v, "(");
		v0_put(v, v0_put_list(v, v0_put_type) == 1 ? ",)" : ")");
		return;
	case 'R':
	case 'Q':
		put_reference(v, tag == 'Q');
		return;
	case 'P':
	case 'O':
		v0_put(v, tag == 'P' ? "*const " : "*mut ");
		v0_put_type(v);
		return;
	case 'F':
		put_function_type(v);
		return;
	case 'D':
		put_dyn(v);
		return;
	case 'B':
		v0_follow(v, v0_put_type);
		return;
	default:
		v0_put_path_of(v, tag, false);
	}
}

void v0_put_type(struct v0 *v)
{
	char tag;

	if (v0_enter(v)) {
		tag = v0_take(v);
		if (basic_type(tag))
			v0_put(v, basic_type(tag));
		else
			put_type_of(v, tag);
	}
	v->depth--;
}

/* Hexadecimal digits up to '_'. */
static void put_integer(struct v0 *v)
{
	const char *digits = v->text + v->at;
	uint64_t value = 0;
	size_t len = 0;

	for (; !v0_take_if(v, '_') && !v->bad; len++) {
		int digit = v0_digit(v0_take(v));

		if (digit < 0 || digit > 15)
			v->bad = true;
		value = value << 4 | (uint64_t)(digit & 15);
	}
	if (len <= 16) {
		v0_put_number(v, value);
	} else {
		v0_put(v, "0x");
		v0_put_n(v, digits, len);
	}
}

static uint64_t take_hex(struct v0 *v)
{
	uint64_t value = 0;

	while (!v0_take_if(v, '_') && !v->bad) {
		int digit = v0_digit(v0_take(v));

		if (digit < 0 || digit > 15 || value >> 60)
			v->bad = true;
		value = value << 4 | (uint64_t)(digit & 15);
	}
	return value;
}

static void put_character(struct v0 *v)
{
	uint64_t code = take_hex(v);

	if (code > 0x10ffff) {
		v->bad = true;
		return;
	}
	v0_put(v, "'");
	if (code == '\'' || code == '\\')
		v0_put(v, "\\");
	if (!v->is_quiet && !v->bad)
		utf8_put(v->out, (int32_t)code);
	v0_put(v, "'");
}

static void put_const_of(struct v0 *v, char tag)
{
	switch (tag) {
	case 'p':
		v0_put(v, "_");
		return;
	case 'B':
		v0_follow(v, v0_put_const);
		return;
	case 'b':
		v0_put(v, take_hex(v) ? "true" : "false");
		return;
	case 'c':
		put_character(v);
		return;
	case 'a': /* signed ones */
	case 'i':
	case 'l':
	case 'n':
	case 's':
	case 'x':
		if (v0_take_if(v, 'n'))
			v0_put(v, "-");
		/* fall through */
	case 'h':
	case 'j':
	case 'm':
	case 'o':
	case 't':
	case 'y':
		put_integer(v);
		return;
	default:
		v->bad = true; /* structures, which the stable language does not have */
	}
}

void v0_put_const(struct v0 *v)
{
	if (v0_enter(v))
		put_const_of(v, v0_take(v));
	v->depth--;
}
