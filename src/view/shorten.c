/* SPDX-License-Identifier: MIT */
#include "view/shorten.h"

#include <ctype.h>
#include <string.h>

#include "base/strtab.h"
#include "base/utf8.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_opening(char c)
{
	return c == '<' || c == '(' || c == '[' || c == '{';
}

static bool is_closing(char c)
{
	return c == '>' || c == ')' || c == ']' || c == '}';
}

/* Behind the bracket that closes the one at at; 0: there is none. */
static size_t group_end(const char *text, size_t len, size_t at)
{
	size_t depth = 0;

	for (; at < len; at++) {
		if (is_opening(text[at]))
			depth++;
		else if (is_closing(text[at]) && text[at - 1] != '-' && --depth == 0)
			return at + 1;
	}
	return 0;
}

/* Behind the operator whose name begins at at; 0: none does. Its brackets are no groups. */
static size_t operator_end(const char *text, size_t len, size_t at)
{
	static const char word[] = "operator", signs[] = "<>=!+-*/%^&|~,";

	if (len - at < strlen(word) || memcmp(text + at, word, strlen(word)) != 0 ||
	    (at > 0 && is_word(text[at - 1])))
		return 0;
	at += strlen(word);
	if (at < len && is_word(text[at]))
		return 0;
	if (len - at >= 2 && (memcmp(text + at, "()", 2) == 0 || memcmp(text + at, "[]", 2) == 0))
		return at + 2;
	while (at < len && strchr(signs, text[at]))
		at++;
	if (at < len && text[at] == ' ' && at + 1 < len && text[at + 1] != '<')
		while (at < len && text[at] != '(') /* new, delete, a type */
			at++;
	return at;
}

/* Does the bracket at at hold arguments or parameters? Else it is a name: "(anonymous
 * namespace)", "{lambda()#1}", "<T as Trait>", "main.(*T)". */
static bool has_arguments(const char *text, size_t at)
{
	return at > 0 && (text[at] == '<' || text[at] == '(') && !strchr(" :.", text[at - 1]);
}

/* Appends the name without result, arguments and parameters; *ret_start: where it begins in text.
 * false: it has none of these, or is no name of this kind. */
static bool put_bare(struct buf *out, const char *text, size_t len, size_t *ret_start)
{
	bool has_any = false, is_operator = false;
	size_t end;

	*ret_start = 0;
	for (size_t at = 0; at < len; at = end) {
		bool is_args = false, is_blank = text[at] == ' ';

		end = operator_end(text, len, at);
		if (!end && is_opening(text[at])) {
			end = group_end(text, len, at);
			is_args = is_operator ? text[at] != '[' : has_arguments(text, at);
			if (!end)
				return false;
		}
		has_any |= is_args;
		if (is_args && text[at] == '(' && (end == len || text[end] != ':'))
			return out->len > 0; /* behind: "const", "[clone ...]" */
		if (is_blank && !is_operator) {
			buf_clear(out); /* what stood before is the result's type */
			*ret_start = at + 1;
		} else if (!is_args && !is_blank) {
			buf_put(out, text + at, end ? end - at : 1);
		}
		if (!is_blank)
			is_operator = end && !is_args && !is_opening(text[at]);
		end = end ? end : at + 1;
	}
	return has_any && out->len > 0;
}

/* Behind the next "::" that is not within brackets; 0: there is none. */
static size_t next_scope(const char *text, size_t len, size_t at)
{
	while (at < len) {
		if (is_opening(text[at])) {
			at = group_end(text, len, at);
			if (!at)
				return 0;
		} else if (text[at] == ':' && at + 2 < len && text[at + 1] == ':') {
			return at + 2;
		} else {
			at++;
		}
	}
	return 0;
}

static size_t columns_of(struct str text)
{
	return utf8_text_width(text.ptr, text.len);
}

/* The text and what follows it in as many columns, then the mark. */
static void put_marked(struct buf *out, struct str text, struct str rest, size_t columns,
		       const char *mark)
{
	size_t fits = utf8_fit(text.ptr, text.len, columns);

	buf_put(out, text.ptr, fits);
	if (fits == text.len) {
		columns -= columns_of(text);
		buf_put(out, rest.ptr, utf8_fit(rest.ptr, rest.len, columns));
	}
	buf_put_str(out, mark);
}

bool shorten_name(struct buf *out, const char *name, size_t len, size_t columns, const char *mark)
{
	CLEANUP(buf_fini) struct buf bare = { 0 };
	size_t start, room = utf8_text_width(mark, strlen(mark)), scope;
	bool is_bare = put_bare(&bare, name, len, &start);
	struct str text = { name, len }, rest = { name, 0 };

	if (buf_error(&bare) < 0) {
		out->bad = true;
		return true;
	}
	if (is_bare)
		text = (struct str){ bare.data, bare.len };
	else if (!next_scope(name, len, 0))
		return false;
	if (is_bare && memcmp(name + start, text.ptr, text.len) == 0)
		rest = (struct str){ name + start + text.len, len - start - text.len };
	room = columns > room ? columns - room : 0;
	while (columns_of(text) > (is_bare ? room : columns) &&
	       (scope = next_scope(text.ptr, text.len, 0)))
		text = (struct str){ text.ptr + scope, text.len - scope };
	if ((is_bare && !rest.len) || columns_of(text) + columns_of(rest) > columns)
		put_marked(out, text, rest, room, mark);
	else
		put_marked(out, text, rest, columns, "");
	return true;
}
