/* SPDX-License-Identifier: MIT */
#include "base/str.h"

struct str str_trim(struct str s)
{
	while (s.len && str_is_blank(s.ptr[s.len - 1]))
		s.len--;
	while (s.len && str_is_blank(*s.ptr)) {
		s.ptr++;
		s.len--;
	}
	return s;
}

struct str str_take_word(struct str *rest)
{
	struct str word;

	while (rest->len && str_is_blank(*rest->ptr)) {
		rest->ptr++;
		rest->len--;
	}
	word = (struct str){ rest->ptr, 0 };
	while (word.len < rest->len && !str_is_blank(word.ptr[word.len]))
		word.len++;
	rest->ptr += word.len;
	rest->len -= word.len;
	return word;
}
