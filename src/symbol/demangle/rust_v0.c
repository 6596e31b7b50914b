/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/rust_v0.h"

#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "symbol/demangle/limits.h"
#include "symbol/demangle/punycode.h"
#include "symbol/demangle/rust.h"

#define MAX_STEPS 200000 /* back references can make a short name take for ever */

void v0_put_n(struct v0 *v, const char *text, size_t len)
{
	if (v->is_quiet || v->bad)
		return;
	buf_put(v->out, text, len);
	if (v->out->len > v->limit)
		v->bad = true;
}

void v0_put(struct v0 *v, const char *text)
{
	v0_put_n(v, text, strlen(text));
}

void v0_put_number(struct v0 *v, uint64_t number)
{
	if (!v->is_quiet && !v->bad)
		buf_put_uint(v->out, number);
}

char v0_peek(const struct v0 *v)
{
	return v->at < v->len && !v->bad ? v->text[v->at] : '\0';
}

char v0_take(struct v0 *v)
{
	if (v->at < v->len && !v->bad)
		return v->text[v->at++];
	v->bad = true;
	return '\0';
}

bool v0_take_if(struct v0 *v, char c)
{
	if (v0_peek(v) != c)
		return false;
	v->at++;
	return true;
}

bool v0_enter(struct v0 *v)
{
	if (++v->depth > V0_MAX_DEPTH || ++v->steps > MAX_STEPS)
		v->bad = true;
	return !v->bad;
}

int v0_digit(char c)
{
	if (number_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

uint64_t v0_take_base62(struct v0 *v)
{
	uint64_t value = 0;
	int digit;

	if (v0_take_if(v, '_'))
		return 0;
	while ((digit = v0_digit(v0_peek(v))) >= 0) {
		v->at++;
		if (__builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			v->bad = true;
	}
	if (!v0_take_if(v, '_') || value == UINT64_MAX)
		v->bad = true;
	return value + 1;
}

/* A base-62 number behind its tag; 0 when it is not there. */
static uint64_t take_optional(struct v0 *v, char tag)
{
	uint64_t value = v0_take_if(v, tag) ? v0_take_base62(v) : UINT64_MAX;

	return value + 1;
}

struct identifier v0_take_identifier(struct v0 *v)
{
	struct identifier id = { .is_punycode = v0_take_if(v, 'u') };
	char first = v0_peek(v);
	size_t len = 0;

	if (first < '0' || first > '9') {
		v->bad = true;
		return id;
	}
	/* A number does not start with 0, but for 0 itself. */
	do
		len = len * 10 + (size_t)(v0_take(v) - '0');
	while (first != '0' && number_is_digit(v0_peek(v)) && len < DEMANGLE_MAX);
	v0_take_if(v, '_');
	if (v->bad || len > v->len - v->at) {
		v->bad = true;
		return id;
	}
	id.text = v->text + v->at;
	id.len = len;
	v->at += len;
	return id;
}

void v0_put_identifier(struct v0 *v, struct identifier id)
{
	uint32_t characters[PUNYCODE_MAX];
	size_t count;

	if (!id.is_punycode) {
		v0_put_n(v, id.text, id.len);
		return;
	}
	count = v->bad ? 0 : punycode_decode(id.text, id.len, characters);
	if (count == 0)
		v->bad = true;
	for (size_t i = 0; i < count && !v->is_quiet; i++)
		utf8_put(v->out, (int32_t)characters[i]);
}

void v0_put_lifetime(struct v0 *v, uint64_t index)
{
	uint64_t depth = v->lifetimes - index;
	char name[] = { '\'', 'a', '\0' };

	if (index == 0) {
		v0_put(v, "'_");
		return;
	}
	if (index > v->lifetimes) {
		v->bad = true;
		return;
	}
	if (depth < 26) {
		name[1] = (char)('a' + depth);
		v0_put(v, name);
	} else {
		v0_put(v, "'_");
		v0_put_number(v, depth);
	}
}

void v0_put_binder(struct v0 *v)
{
	uint64_t count = take_optional(v, 'G');

	if (count > V0_MAX_DEPTH)
		v->bad = true;
	for (uint64_t i = 0; i < count && !v->bad; i++) {
		v0_put(v, i ? ", " : "for<");
		v->lifetimes++;
		v0_put_lifetime(v, 1);
	}
	if (count)
		v0_put(v, "> ");
}

void v0_follow(struct v0 *v, void (*read)(struct v0 *v))
{
	size_t begin = v->at - 1, back;
	uint64_t target = v0_take_base62(v);

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
	v0_put_path(v, true);
}

static void put_type_path(struct v0 *v)
{
	v0_put_path(v, false);
}

void v0_put_generic_arg(struct v0 *v)
{
	if (v0_take_if(v, 'L'))
		v0_put_lifetime(v, v0_take_base62(v));
	else if (v0_take_if(v, 'K'))
		v0_put_const(v);
	else
		v0_put_type(v);
}

size_t v0_put_list(struct v0 *v, void (*read)(struct v0 *v))
{
	size_t count = 0;

	while (!v->bad && !v0_take_if(v, 'E')) {
		if (count++)
			v0_put(v, ", ");
		read(v);
	}
	return count;
}

/* "::name", or "::{closure#0}" for what the compiler made. */
static void put_nested(struct v0 *v, bool is_value)
{
	char space = v0_take(v);
	struct identifier id;
	uint64_t number;

	if (!((space >= 'a' && space <= 'z') || (space >= 'A' && space <= 'Z')))
		v->bad = true;
	v0_put_path(v, is_value);
	number = take_optional(v, 's');
	id = v0_take_identifier(v);
	if (space >= 'a' && space <= 'z') {
		if (id.len)
			v0_put(v, "::");
		v0_put_identifier(v, id);
		return;
	}
	v0_put(v, "::{");
	if (space == 'C')
		v0_put(v, "closure");
	else if (space == 'S')
		v0_put(v, "shim");
	else
		v0_put_n(v, &space, 1);
	if (id.len) {
		v0_put(v, ":");
		v0_put_identifier(v, id);
	}
	v0_put(v, "#");
	v0_put_number(v, number);
	v0_put(v, "}");
}

/* The path of an impl carries no information for readers. */
static void skip_impl_path(struct v0 *v)
{
	bool was_quiet = v->is_quiet;

	v->is_quiet = true;
	take_optional(v, 's');
	v0_put_path(v, false);
	v->is_quiet = was_quiet;
}

void v0_put_path_of(struct v0 *v, char tag, bool is_value)
{
	switch (tag) {
	case 'C':
		take_optional(v, 's');
		v0_put_identifier(v, v0_take_identifier(v));
		return;
	case 'N':
		put_nested(v, is_value);
		return;
	case 'M':
	case 'X':
		skip_impl_path(v);
		/* fall through */
	case 'Y':
		v0_put(v, "<");
		v0_put_type(v);
		if (tag != 'M') {
			v0_put(v, " as ");
			v0_put_path(v, false);
		}
		v0_put(v, ">");
		return;
	case 'I':
		v0_put_path(v, is_value);
		v0_put(v, is_value ? "::<" : "<");
		v0_put_list(v, v0_put_generic_arg);
		v0_put(v, ">");
		return;
	case 'B':
		v0_follow(v, is_value ? put_value_path : put_type_path);
		return;
	default:
		v->bad = true;
	}
}

void v0_put_path(struct v0 *v, bool is_value)
{
	if (v0_enter(v))
		v0_put_path_of(v, v0_take(v), is_value);
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
	v0_put_path(&v, true);
	if (v.at < v.len && !v.bad) { /* the crate that instantiated it */
		v.is_quiet = true;
		v0_put_path(&v, false);
	}
	if (v.bad || v.at != v.len)
		return false;
	rust_put_suffix(suffix, out);
	return true;
}
