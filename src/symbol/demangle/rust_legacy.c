/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/rust.h"

#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "symbol/demangle/limits.h"

#define HASH_LEN 17 /* 'h' and 16 digits */

/* One element of the path; len 0: there is no further one. */
struct element {
	const char *text;
	size_t len;
};

static struct element next_element(const char **at)
{
	struct element none = { 0 }, element;
	size_t len = 0;

	while (number_is_digit(**at) && len < DEMANGLE_MAX)
		len = len * 10 + (size_t)(*(*at)++ - '0');
	if (strnlen(*at, len) < len)
		return none;
	element = (struct element){ *at, len };
	*at += len;
	return element;
}

static bool is_hash(struct element e)
{
	return e.len == HASH_LEN && e.text[0] == 'h' &&
	       strspn(e.text + 1, "0123456789abcdef") >= HASH_LEN - 1;
}

/* "$LT$" and others; "$u7e$" is a code point. false: none of them. */
static bool put_escape(const char *text, size_t len, struct buf *out)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{ "SP", "@" }, { "BP", "*" }, { "RF", "&" }, { "LT", "<" },
		{ "GT", ">" }, { "LP", "(" }, { "RP", ")" }, { "C", "," },
	};
	uint32_t code = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strlen(rows[i].name) != len || memcmp(rows[i].name, text, len) != 0)
			continue;
		buf_put_str(out, rows[i].text);
		return true;
	}
	if (len < 2 || len > 7 || text[0] != 'u')
		return false; /* no code point */
	for (size_t i = 1; i < len; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = strchr(digits, text[i]);

		if (!digit)
			return false;
		code = code << 4 | (uint32_t)(digit - digits);
	}
	utf8_put(out, (int32_t)code);
	return true;
}

/* Takes one character, or an escape of several; false: a broken escape. */
static bool put_next(const char **at, const char *end, struct buf *out)
{
	const char *close;

	if (**at == '.') {
		bool is_double = *at + 1 < end && (*at)[1] == '.';

		buf_put_str(out, is_double ? "::" : ".");
		*at += is_double ? 2 : 1;
		return true;
	}
	if (**at != '$') {
		buf_put_byte(out, (unsigned char)*(*at)++);
		return true;
	}
	close = memchr(*at + 1, '$', (size_t)(end - *at - 1));
	if (!close || !put_escape(*at + 1, (size_t)(close - *at - 1), out))
		return false;
	*at = close + 1;
	return true;
}

static void put_element(struct element e, struct buf *out)
{
	const char *at = e.text, *end = e.text + e.len;

	/* An escape at the start of a name is hidden behind an underscore. */
	if (e.len > 1 && at[0] == '_' && at[1] == '$')
		at++;
	while (at < end) {
		if (!put_next(&at, end, out)) {
			buf_put(out, at, (size_t)(end - at));
			return;
		}
	}
}

void rust_put_suffix(const char *suffix, struct buf *out)
{
	const char *llvm = strstr(suffix, ".llvm.");

	buf_put(out, suffix, llvm ? (size_t)(llvm - suffix) : strlen(suffix));
}

bool rust_demangle_legacy(const char *name, struct buf *out)
{
	const char *at = name + 3;
	struct element element, last = { 0 };
	size_t count = 0;

	if (strncmp(name, "_ZN", 3) != 0)
		return false;
	while ((element = next_element(&at)).len) {
		last = element;
		count++;
	}
	if (count < 2 || !is_hash(last) || *at != 'E' || (at[1] && at[1] != '.'))
		return false;
	at = name + 3;
	for (size_t i = 0; i + 1 < count; i++) {
		if (i)
			buf_put_str(out, "::");
		put_element(next_element(&at), out);
	}
	next_element(&at); /* the hash */
	rust_put_suffix(at + 1, out);
	return true;
}
