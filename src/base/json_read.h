/* SPDX-License-Identifier: MIT */
/*
 * json_read: reads one JSON text forward, member by member, without building a tree.
 *
 * The first error ends the reading: wrong has the reason, at stays at its position, and later
 * calls yield nothing. So a reader checks once at the end (json_end). Texts are borrowed from the
 * input, with their escapes. NaN, Infinity and -Infinity are read as null, because Python writes
 * them; invalid UTF-8 is accepted.
 *
 *	struct json_list o = json_object(&j);
 *	while (json_member(&j, &o, &key))
 *		take(&key, json_number(&j)); or json_skip(&j)
 *
 * Source: RFC 8259.
 */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"

#define JSON_MAX_DEPTH 1024 /* arrays and objects in one another */

struct json {
	const char *start; /* of the text */
	const char *at;    /* next byte */
	const char *end;   /* one past the last: a NUL or a line end that can be read */
	const char *wrong; /* a literal: why the text is none; NULL so far */
};

/* A string or the digits of a number, as written. */
struct json_text {
	const char *ptr; /* [0..len); borrowed; NULL: none */
	size_t len;
	bool has_escapes;
};

/* digits * 10^exponent. */
struct json_number {
	uint64_t digits;
	int64_t exponent;
	bool is_negative;
	bool is_none; /* null, NaN, Infinity, or out of range */
};

/* What is being read of an array or object. */
struct json_list {
	char close; /* '}' or ']'; 0: over */
	bool is_first;
};

/* text[len] must be readable: a NUL or a line end. */
struct json json_begin(const char *text, size_t len);

/* The first byte of the next value: '{', '[', '"', '-', a digit, 't', 'f', 'n', ...; 0: none. */
char json_peek(struct json *j);

/* Enters the value, which must be an object or an array. */
struct json_list json_object(struct json *j);
struct json_list json_array(struct json *j);

/* The next member of an object, whose value must then be read or skipped; false: it is over. */
bool json_member(struct json *j, struct json_list *object, struct json_text *ret_key);
/* Is the next member's key this one, as it is mostly written? word: the key with its quotes and the
 * colon, [0..len). Then as json_member; else nothing moves, and json_member has the error. Much
 * faster. */
bool json_expect(struct json *j, struct json_list *object, const char *word, size_t len);

/* As json_member, of an array. */
bool json_item(struct json *j, struct json_list *array);

struct json_text json_string(struct json *j);
struct json_number json_number(struct json *j); /* or null */
bool json_bool(struct json *j);
/* A value of any kind; a string, number or literal as text. */
struct json_text json_skip(struct json *j);
/* A value that should be a number; another one is skipped, and is_none. */
struct json_number json_number_or_skip(struct json *j);

/* Nothing but blanks may follow. True when all was well. */
bool json_end(struct json *j);

/* Does the text equal other, byte for byte and without replacing escapes? */
bool json_equals(const struct json_text *text, const char *other);

/* Appends the text with its escapes replaced; half surrogates become U+FFFD. */
void json_unescape(struct json_text text, struct buf *out);

/* value * 10^scale, rounded to the nearest. False: none, or it does not fit. */
bool json_scale(struct json_number n, int scale, int64_t *ret);

#endif
