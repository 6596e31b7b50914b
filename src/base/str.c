/* SPDX-License-Identifier: MIT */
#include "base/str.h"

size_t str_find(struct str s, const char *text)
{
	const char *at = s.len ? memmem(s.ptr, s.len, text, strlen(text)) : NULL;

	return at ? (size_t)(at - s.ptr) : s.len;
}

struct str str_skip_blanks(struct str s)
{
	size_t at = 0;

	while (at < s.len && str_is_blank(s.ptr[at]))
		at++;
	return str_part(s, at, s.len);
}

struct str str_trim(struct str s)
{
	while (s.len && str_is_blank(s.ptr[s.len - 1]))
		s.len--;
	return str_skip_blanks(s);
}

struct str str_take_word(struct str *rest)
{
	struct str word = str_skip_blanks(*rest);
	size_t len = 0;

	while (len < word.len && !str_is_blank(word.ptr[len]))
		len++;
	*rest = str_part(word, len, word.len);
	return str_part(word, 0, len);
}
