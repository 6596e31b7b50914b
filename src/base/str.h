/* SPDX-License-Identifier: MIT */
/* str: a borrowed piece of text with its length, and comparisons of its start and end. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
	const char *ptr; /* [0..len); borrowed. A NUL follows only where the function says so. */
	size_t len;      /* bytes */
};

static inline bool str_equals(struct str s, const char *text)
{
	return s.len == strlen(text) && (!s.len || memcmp(s.ptr, text, s.len) == 0);
}

static inline bool str_starts_with(struct str s, const char *prefix)
{
	size_t len = strlen(prefix);

	return s.len >= len && (!len || memcmp(s.ptr, prefix, len) == 0);
}

static inline bool str_ends_with(struct str s, const char *suffix)
{
	size_t len = strlen(suffix);

	return s.len >= len && (!len || memcmp(s.ptr + s.len - len, suffix, len) == 0);
}

static inline bool str_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* [from..to) of it. */
static inline struct str str_part(struct str s, size_t from, size_t to)
{
	/* there may be no bytes at all */
	return (struct str){ from ? s.ptr + from : s.ptr, to - from };
}

/* Where text begins in it; s.len: nowhere. */
size_t str_find(struct str s, const char *text);

/* Without the blanks at its start. */
struct str str_skip_blanks(struct str s);

/* Without the blanks around it. */
struct str str_trim(struct str s);

/* Takes the first word off *rest, and the blanks before it. Empty: no word is left. */
struct str str_take_word(struct str *rest);

/* As str_starts_with() and str_ends_with(), for texts that end with a NUL. */
static inline bool text_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static inline bool text_ends_with(const char *text, const char *suffix)
{
	return str_ends_with((struct str){ text, strlen(text) }, suffix);
}

#endif
