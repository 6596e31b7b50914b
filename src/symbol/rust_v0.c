/* SPDX-License-Identifier: MIT */
#include "symbol/rust.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "symbol/demangle.h"
#include "symbol/punycode.h"

#define MAX_DEPTH 160    /* of types within types */
#define MAX_STEPS 200000 /* back references can make a short name take for ever */

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

static void put_path(struct v0 *v, bool is_value);
static void put_type(struct v0 *v);
static void put_const(struct v0 *v);

static void put_n(struct v0 *v, const char *text, size_t len)
{
	if (v->is_quiet || v->bad)
		return;
	buf_put(v->out, text, len);
	if (v->out->len > v->limit)
		v->bad = true;
}

static void put(struct v0 *v, const char *text)
{
	put_n(v, text, strlen(text));
}

static void put_number(struct v0 *v, uint64_t number)
{
	if (!v->is_quiet && !v->bad)
		buf_put_uint(v->out, number);
}

static char peek(const struct v0 *v)
{
	return v->at < v->len && !v->bad ? v->text[v->at] : '\0';
}

static char take(struct v0 *v)
{
	if (v->at < v->len && !v->bad)
		return v->text[v->at++];
	v->bad = true;
	return '\0';
}

static bool take_if(struct v0 *v, char c)
{
	if (peek(v) != c)
		return false;
	v->at++;
	return true;
}

/* Opens a level of recursion; false: too deep, or too long. */
static bool enter(struct v0 *v)
{
	if (++v->depth > MAX_DEPTH || ++v->steps > MAX_STEPS)
		v->bad = true;
	return !v->bad;
}

static int base62_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1. */
static uint64_t take_base62(struct v0 *v)
{
	uint64_t value = 0;
	int digit;

	if (take_if(v, '_'))
		return 0;
	while ((digit = base62_digit(peek(v))) >= 0) {
		v->at++;
		if (__builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			v->bad = true;
	}
	if (!take_if(v, '_') || value == UINT64_MAX)
		v->bad = true;
	return value + 1;
}

/* A base-62 number behind its tag; 0 when it is not there. */
static uint64_t take_optional(struct v0 *v, char tag)
{
	uint64_t value = take_if(v, tag) ? take_base62(v) : UINT64_MAX;

	return value + 1;
}

static struct identifier take_identifier(struct v0 *v)
{
	struct identifier id = { .is_punycode = take_if(v, 'u') };
	char first = peek(v);
	size_t len = 0;

	if (first < '0' || first > '9') {
		v->bad = true;
		return id;
	}
	/* A number does not start with 0, but for 0 itself. */
	do
		len = len * 10 + (size_t)(take(v) - '0');
	while (first != '0' && peek(v) >= '0' && peek(v) <= '9' && len < DEMANGLE_MAX);
	take_if(v, '_');
	if (v->bad || len > v->len - v->at) {
		v->bad = true;
		return id;
	}
	id.text = v->text + v->at;
	id.len = len;
	v->at += len;
	return id;
}

static void put_identifier(struct v0 *v, struct identifier id)
{
	uint32_t characters[PUNYCODE_MAX];
	size_t count;

	if (!id.is_punycode) {
		put_n(v, id.text, id.len);
		return;
	}
	count = v->bad ? 0 : punycode_decode(id.text, id.len, characters);
	if (count == 0)
		v->bad = true;
	for (size_t i = 0; i < count && !v->is_quiet; i++)
		utf8_put(v->out, (int32_t)characters[i]);
}

static void put_lifetime(struct v0 *v, uint64_t index)
{
	uint64_t depth = v->lifetimes - index;
	char name[] = { '\'', 'a', '\0' };

	if (index == 0) {
		put(v, "'_");
		return;
	}
	if (index > v->lifetimes) {
		v->bad = true;
		return;
	}
	if (depth < 26) {
		name[1] = (char)('a' + depth);
		put(v, name);
	} else {
		put(v, "'_");
		put_number(v, depth);
	}
}

/* "for<'a, 'b> " */
static void put_binder(struct v0 *v)
{
	uint64_t count = take_optional(v, 'G');

	if (count > MAX_DEPTH)
		v->bad = true;
	for (uint64_t i = 0; i < count && !v->bad; i++) {
		put(v, i ? ", " : "for<");
		v->lifetimes++;
		put_lifetime(v, 1);
	}
	if (count)
		put(v, "> ");
}

/* Reads what stands at an earlier place, and comes back. */
static void follow(struct v0 *v, void (*read)(struct v0 *v))
{
	size_t begin = v->at - 1, back;
	uint64_t target = take_base62(v);

	if (v->bad || target >= begin) {
		v->bad = true;
		return;
	}
	if (v->is_quiet)
		return; /* it was read where it stands */
	back = v->at;
	v->at = target;
	read(v);
	v->at = back;
}

static void put_value_path(struct v0 *v)
{
	put_path(v, true);
}

static void put_type_path(struct v0 *v)
{
	put_path(v, false);
}

static void put_generic_arg(struct v0 *v)
{
	if (take_if(v, 'L'))
		put_lifetime(v, take_base62(v));
	else if (take_if(v, 'K'))
		put_const(v);
	else
		put_type(v);
}

/* Elements up to 'E', with ", " between them. Returns their count. */
static size_t put_list(struct v0 *v, void (*read)(struct v0 *v))
{
	size_t count = 0;

	while (!v->bad && !take_if(v, 'E')) {
		if (count++)
			put(v, ", ");
		read(v);
	}
	return count;
}

/* "::name", or "::{closure#0}" for what the compiler made. */
static void put_nested(struct v0 *v, bool is_value)
{
	char space = take(v);
	struct identifier id;
	uint64_t number;

	if (!((space >= 'a' && space <= 'z') || (space >= 'A' && space <= 'Z')))
		v->bad = true;
	put_path(v, is_value);
	number = take_optional(v, 's');
	id = take_identifier(v);
	if (space >= 'a' && space <= 'z') {
		if (id.len)
			put(v, "::");
		put_identifier(v, id);
		return;
	}
	put(v, "::{");
	if (space == 'C')
		put(v, "closure");
	else if (space == 'S')
		put(v, "shim");
	else
		put_n(v, &space, 1);
	if (id.len) {
		put(v, ":");
		put_identifier(v, id);
	}
	put(v, "#");
	put_number(v, number);
	put(v, "}");
}

/* Where an impl stands tells nobody anything. */
static void skip_impl_path(struct v0 *v)
{
	bool was_quiet = v->is_quiet;

	v->is_quiet = true;
	take_optional(v, 's');
	put_path(v, false);
	v->is_quiet = was_quiet;
}

static void put_path_of(struct v0 *v, char tag, bool is_value)
{
	switch (tag) {
	case 'C':
		take_optional(v, 's');
		put_identifier(v, take_identifier(v));
		return;
	case 'N':
		put_nested(v, is_value);
		return;
	case 'M':
	case 'X':
		skip_impl_path(v);
		/* fall through */
	case 'Y':
		put(v, "<");
		put_type(v);
		if (tag != 'M') {
			put(v, " as ");
			put_path(v, false);
		}
		put(v, ">");
		return;
	case 'I':
		put_path(v, is_value);
		put(v, is_value ? "::<" : "<");
		put_list(v, put_generic_arg);
		put(v, ">");
		return;
	case 'B':
		follow(v, is_value ? put_value_path : put_type_path);
		return;
	default:
		v->bad = true;
	}
}

static void put_path(struct v0 *v, bool is_value)
{
	if (enter(v))
		put_path_of(v, take(v), is_value);
	v->depth--;
}

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

	put(v, "extern \"");
	if (take_if(v, 'C')) {
		put(v, "C");
	} else {
		id = take_identifier(v);
		for (size_t i = 0; i < id.len && !id.is_punycode; i++)
			put_n(v, id.text[i] == '_' ? "-" : id.text + i, 1);
	}
	put(v, "\" ");
}

static void put_function_type(struct v0 *v)
{
	uint64_t outer = v->lifetimes;

	put_binder(v);
	if (take_if(v, 'U'))
		put(v, "unsafe ");
	if (take_if(v, 'K'))
		put_abi(v);
	put(v, "fn(");
	put_list(v, put_type);
	put(v, ")");
	if (!take_if(v, 'u')) { /* () is not written */
		put(v, " -> ");
		put_type(v);
	}
	v->lifetimes = outer;
}

/* A trait's path; its list of arguments is left open, for bindings. true: there is one. */
static bool put_open_path(struct v0 *v)
{
	bool is_open = false;

	if (!enter(v)) {
		v->depth--;
		return false;
	}
	if (take_if(v, 'B')) {
		size_t begin = v->at - 1, back;
		uint64_t target = take_base62(v);

		if (v->bad || target >= begin) {
			v->bad = true;
		} else if (!v->is_quiet) {
			back = v->at;
			v->at = target;
			is_open = put_open_path(v);
			v->at = back;
		}
	} else if (take_if(v, 'I')) {
		put_path(v, false);
		put(v, "<");
		put_list(v, put_generic_arg);
		is_open = true;
	} else {
		put_path(v, false);
	}
	v->depth--;
	return is_open;
}

/* "Iterator<Item = u8>" */
static void put_trait(struct v0 *v)
{
	bool is_open = put_open_path(v);

	while (take_if(v, 'p')) {
		put(v, is_open ? ", " : "<");
		is_open = true;
		put_identifier(v, take_identifier(v));
		put(v, " = ");
		put_type(v);
	}
	if (is_open)
		put(v, ">");
}

static void put_dyn(struct v0 *v)
{
	uint64_t outer = v->lifetimes, lifetime;
	bool is_first = true;

	put(v, "dyn ");
	put_binder(v);
	while (!v->bad && !take_if(v, 'E')) {
		if (!is_first)
			put(v, " + ");
		is_first = false;
		put_trait(v);
	}
	v->lifetimes = outer;
	if (!take_if(v, 'L')) {
		v->bad = true;
		return;
	}
	lifetime = take_base62(v);
	if (lifetime) {
		put(v, " + ");
		put_lifetime(v, lifetime);
	}
}

static void put_reference(struct v0 *v, bool is_mutable)
{
	uint64_t lifetime = take_if(v, 'L') ? take_base62(v) : 0;

	put(v, "&");
	if (lifetime) {
		put_lifetime(v, lifetime);
		put(v, " ");
	}
	if (is_mutable)
		put(v, "mut ");
	put_type(v);
}

static void put_sequence(struct v0 *v, bool has_length)
{
	put(v, "[");
	put_type(v);
	if (has_length) {
		put(v, "; ");
		put_const(v);
	}
	put(v, "]");
}

static void put_type_of(struct v0 *v, char tag)
{
	switch (tag) {
	case 'A':
	case 'S':
		put_sequence(v, tag == 'A');
		return;
	case 'T':
		put(v, "(");
		put(v, put_list(v, put_type) == 1 ? ",)" : ")");
		return;
	case 'R':
	case 'Q':
		put_reference(v, tag == 'Q');
		return;
	case 'P':
	case 'O':
		put(v, tag == 'P' ? "*const " : "*mut ");
		put_type(v);
		return;
	case 'F':
		put_function_type(v);
		return;
	case 'D':
		put_dyn(v);
		return;
	case 'B':
		follow(v, put_type);
		return;
	default:
		put_path_of(v, tag, false);
	}
}

static void put_type(struct v0 *v)
{
	char tag = peek(v);

	if (!enter(v)) {
		v->depth--;
		return;
	}
	v->at++;
	if (basic_type(tag))
		put(v, basic_type(tag));
	else if (tag)
		put_type_of(v, tag);
	else
		v->bad = true;
	v->depth--;
}

/* Hexadecimal digits up to '_'. */
static void put_integer(struct v0 *v)
{
	const char *digits = v->text + v->at;
	uint64_t value = 0;
	size_t len = 0;

	for (; !take_if(v, '_') && !v->bad; len++) {
		int digit = base62_digit(take(v));

		if (digit < 0 || digit > 15)
			v->bad = true;
		value = value << 4 | (uint64_t)(digit & 15);
	}
	if (len <= 16) {
		put_number(v, value);
	} else {
		put(v, "0x");
		put_n(v, digits, len);
	}
}

static uint64_t take_hex(struct v0 *v)
{
	uint64_t value = 0;

	while (!take_if(v, '_') && !v->bad) {
		int digit = base62_digit(take(v));

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
	put(v, "'");
	if (code == '\'' || code == '\\')
		put(v, "\\");
	if (!v->is_quiet && !v->bad)
		utf8_put(v->out, (int32_t)code);
	put(v, "'");
}

static void put_const_of(struct v0 *v, char tag)
{
	switch (tag) {
	case 'p':
		put(v, "_");
		return;
	case 'B':
		follow(v, put_const);
		return;
	case 'b':
		put(v, take_hex(v) ? "true" : "false");
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
		if (take_if(v, 'n'))
			put(v, "-");
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

static void put_const(struct v0 *v)
{
	if (enter(v))
		put_const_of(v, take(v));
	v->depth--;
}

bool rust_demangle_v0(const char *name, struct buf *out)
{
	struct v0 v = { .out = out, .limit = out->len + DEMANGLE_MAX };
	const char *suffix;

	if (strncmp(name, "_R", 2) != 0)
		return false;
	v.text = name + 2;
	v.len = strcspn(v.text, ".$");
	suffix = v.text + v.len;
	put_path(&v, true);
	if (v.at < v.len && !v.bad) { /* the crate that asked for this instance */
		v.is_quiet = true;
		put_path(&v, false);
	}
	if (v.bad || v.at != v.len)
		return false;
	rust_put_suffix(suffix, out);
	return true;
}
