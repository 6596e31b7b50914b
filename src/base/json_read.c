/* SPDX-License-Identifier: MIT */
#include "base/json_read.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS (ONES * 0x80)
#define MAX_EXPONENT (INT64_C(1) << 48) /* no text is long enough to make up for more */

struct json json_begin(const char *text, size_t len)
{
	assert(text[len] == '\0' || text[len] == '\n');
	return (struct json){ .start = text, .at = text, .end = text + len };
}

static void fail(struct json *j, const char *wrong)
{
	if (!j->wrong)
		j->wrong = wrong;
}

static void skip_blanks(struct json *j)
{
	while (j->at < j->end &&
	       (*j->at == ' ' || *j->at == '\t' || *j->at == '\r' || *j->at == '\n'))
		j->at++;
}

char json_peek(struct json *j)
{
	if (j->wrong)
		return 0;
	skip_blanks(j);
	if (j->at == j->end)
		fail(j, "ends within a value");
	else if (!*j->at)
		fail(j, "lacks a value");
	return j->wrong ? 0 : *j->at;
}

static struct json_list enter(struct json *j, char open, char close, const char *wrong)
{
	if (json_peek(j) != open) {
		fail(j, wrong);
		return (struct json_list){ 0 };
	}
	j->at++;
	return (struct json_list){ close, true };
}

struct json_list json_object(struct json *j)
{
	return enter(j, '{', '}', "is no object");
}

struct json_list json_array(struct json *j)
{
	return enter(j, '[', ']', "is no array");
}

/* Moves before the next element of a list; false: there is none. */
static bool step(struct json *j, struct json_list *list)
{
	if (!list->close || j->wrong)
		return false;
	skip_blanks(j);
	if (*j->at == list->close && j->at < j->end) {
		j->at++;
		list->close = 0;
		return false;
	}
	if (!list->is_first) {
		if (*j->at != ',' || j->at == j->end) {
			fail(j, j->at == j->end ? "ends within a list" : "lacks a comma");
			return false;
		}
		j->at++;
		skip_blanks(j);
	}
	list->is_first = false;
	return true;
}

bool json_item(struct json *j, struct json_list *array)
{
	return step(j, array);
}

/* One bit in each byte of a little-endian word that may end or break a string: a quote, a backslash
 * or a control character. The lowest one is true; those above it may be none. */
static uint64_t find_special(uint64_t word)
{
	uint64_t quote = word ^ ONES * '"', escape = word ^ ONES * '\\';
	uint64_t found = ((quote - ONES) & ~quote) | ((escape - ONES) & ~escape) |
			 ((word - ONES * 0x20) & ~word);

	return found & HIGHS;
}

/* Moves to the first byte of a string that is not plain text. */
static void skip_plain(struct json *j)
{
	uint64_t word, found;

	while (j->end - j->at >= 8) {
		memcpy(&word, j->at, 8);
		found = find_special(le64toh(word));
		if (found) {
			j->at += __builtin_ctzll(found) / 8;
			return;
		}
		j->at += 8;
	}
	while (j->at < j->end && *j->at != '"' && *j->at != '\\' && (unsigned char)*j->at >= 0x20)
		j->at++;
}

/* Behind a backslash. */
static bool skip_escape(struct json *j)
{
	char letter = j->at < j->end ? *j->at++ : '\0';

	if (letter != 'u')
		return letter && strchr("\"\\/bfnrt", letter);
	for (int i = 0; i < 4; i++, j->at++)
		if (j->at >= j->end || number_hex_digit(*j->at) < 0)
			return false;
	return true;
}

/* Behind the opening quote; moves behind the closing one. */
static struct json_text read_string(struct json *j)
{
	struct json_text text = { .ptr = j->at };

	for (;;) {
		skip_plain(j);
		if (j->at >= j->end || *j->at != '\\')
			break;
		j->at++;
		text.has_escapes = true;
		if (!skip_escape(j)) {
			fail(j, "has a bad escape in a string");
			return (struct json_text){ 0 };
		}
	}
	if (j->at >= j->end || *j->at != '"') {
		fail(j, j->at >= j->end ? "ends within a string"
					: "has a control character in a string");
		return (struct json_text){ 0 };
	}
	text.len = (size_t)(j->at++ - text.ptr);
	return text;
}

struct json_text json_string(struct json *j)
{
	if (json_peek(j) != '"') {
		fail(j, "lacks a string");
		return (struct json_text){ 0 };
	}
	j->at++;
	return read_string(j);
}

bool json_member(struct json *j, struct json_list *object, struct json_text *ret_key)
{
	if (!step(j, object))
		return false;
	*ret_key = json_string(j);
	if (j->wrong)
		return false;
	if (*j->at != ':')
		skip_blanks(j);
	if (*j->at != ':' || j->at >= j->end) {
		fail(j, "lacks a colon");
		return false;
	}
	j->at++;
	return true;
}

/* memcmp without a call: words are short. */
static bool is_same(const char *a, const char *b, size_t len)
{
	uint64_t x, y;

	if (len < 8)
		return memcmp(a, b, len) == 0;
	for (size_t at = 0; at + 8 < len; at += 8) {
		memcpy(&x, a + at, 8);
		memcpy(&y, b + at, 8);
		if (x != y)
			return false;
	}
	memcpy(&x, a + len - 8, 8);
	memcpy(&y, b + len - 8, 8);
	return x == y;
}

bool json_expect(struct json *j, struct json_list *object, const char *word, size_t len)
{
	const char *at = j->at;

	if (!object->close || j->wrong)
		return false;
	/* the end is a byte that is neither */
	if (!object->is_first && *at++ != ',')
		return false;
	at += *at == ' ';
	if (j->end - at < (ptrdiff_t)len || !is_same(at, word, len))
		return false;
	j->at = at + len;
	object->is_first = false;
	return true;
}

static bool take_word(struct json *j, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(j->end - j->at) < len || memcmp(j->at, word, len) != 0)
		return false;
	j->at += len;
	return true;
}

/* The digits of a whole part or a fraction; those that do not fit only count. */
static size_t read_digits(struct json *j, struct json_number *n, int step_exponent)
{
	const char *start = j->at;

	for (; number_is_digit(*j->at); j->at++) {
		if (n->digits < UINT64_C(1000000000000000000)) {
			n->digits = 10 * n->digits + (unsigned)(*j->at - '0');
			n->exponent -= step_exponent;
		} else if (!step_exponent && n->exponent < MAX_EXPONENT) {
			n->exponent++;
		}
	}
	return (size_t)(j->at - start);
}

static bool read_exponent(struct json *j, struct json_number *n)
{
	bool is_negative = *j->at == '-';
	int64_t exponent = 0;

	if (*j->at == '-' || *j->at == '+')
		j->at++;
	if (!number_is_digit(*j->at))
		return false;
	for (; number_is_digit(*j->at); j->at++)
		if (exponent < MAX_EXPONENT)
			exponent = 10 * exponent + (*j->at - '0');
	n->exponent += is_negative ? -exponent : exponent;
	return true;
}

struct json_number json_number(struct json *j)
{
	struct json_number n = { 0 };
	const char *start;
	size_t digits;

	if (!json_peek(j))
		return (struct json_number){ .is_none = true };
	if (*j->at == 'n' && take_word(j, "null"))
		return (struct json_number){ .is_none = true };
	if (*j->at == 'N' && take_word(j, "NaN"))
		return (struct json_number){ .is_none = true };
	n.is_negative = *j->at == '-';
	j->at += n.is_negative;
	if (*j->at == 'I' && take_word(j, "Infinity"))
		return (struct json_number){ .is_none = true };
	start = j->at;
	digits = read_digits(j, &n, 0);
	if (!digits || (digits > 1 && *start == '0')) {
		fail(j, "lacks a number");
		return n;
	}
	if (*j->at == '.') {
		j->at++;
		if (!read_digits(j, &n, 1))
			fail(j, "has a bad number");
	}
	if ((*j->at | 0x20) == 'e') {
		j->at++;
		if (!read_exponent(j, &n))
			fail(j, "has a bad number");
	}
	return n;
}

bool json_bool(struct json *j)
{
	char first = json_peek(j);

	if (first == 't' && take_word(j, "true"))
		return true;
	if (!(first == 'f' && take_word(j, "false")))
		fail(j, "lacks true or false");
	return false;
}

/* A string, number or literal. */
static struct json_text skip_scalar(struct json *j)
{
	struct json_text text = { .ptr = j->at };

	switch (*j->at) {
	case '"':
		j->at++;
		return read_string(j);
	case 't':
	case 'f':
		json_bool(j);
		break;
	default:
		if ((unsigned char)(*j->at - '0') > 9 && !strchr("-nNI", *j->at))
			fail(j, "lacks a value");
		else
			json_number(j);
	}
	text.len = (size_t)(j->at - text.ptr);
	return text;
}

/* Lists that are open, one bit each: is it an object? */
struct nest {
	uint64_t is_object[JSON_MAX_DEPTH / 64];
	size_t depth;
};

static bool nest_is_object(const struct nest *n)
{
	return n->is_object[(n->depth - 1) / 64] >> (n->depth - 1) % 64 & 1;
}

static void nest_enter(struct nest *n, bool is_object)
{
	uint64_t bit = UINT64_C(1) << n->depth % 64;

	if (is_object)
		n->is_object[n->depth / 64] |= bit;
	else
		n->is_object[n->depth / 64] &= ~bit;
	n->depth++;
}

/* Within the innermost open list; is_first: right behind its bracket. Goes on to its next value,
 * or closes lists. False: all are closed, or something is wrong. */
static bool nest_step(struct json *j, struct nest *n, bool is_first)
{
	for (; n->depth; is_first = false) {
		bool is_object = nest_is_object(n);
		struct json_list list = { is_object ? '}' : ']', is_first };
		struct json_text key;

		if (is_object ? json_member(j, &list, &key) : json_item(j, &list))
			return true;
		if (j->wrong)
			return false;
		n->depth--;
	}
	return false;
}

static void skip_lists(struct json *j)
{
	struct nest nest;
	bool is_open = true;

	nest.depth = 0;
	while (is_open) {
		char first = json_peek(j);

		if (first != '{' && first != '[') {
			if (first)
				skip_scalar(j);
			is_open = nest_step(j, &nest, false);
		} else if (nest.depth == JSON_MAX_DEPTH) {
			fail(j, "nests too deep");
			return;
		} else {
			j->at++;
			nest_enter(&nest, first == '{');
			is_open = nest_step(j, &nest, true);
		}
	}
}

struct json_text json_skip(struct json *j)
{
	char first = json_peek(j);

	if (!first)
		return (struct json_text){ 0 };
	if (first != '{' && first != '[')
		return skip_scalar(j);
	skip_lists(j);
	return (struct json_text){ 0 };
}

bool json_end(struct json *j)
{
	if (j->wrong)
		return false;
	skip_blanks(j);
	if (j->at < j->end)
		fail(j, "has more behind its end");
	return !j->wrong;
}

static int32_t read_unit(const char *digits)
{
	int32_t unit = 0;

	for (int i = 0; i < 4; i++)
		unit = unit << 4 | number_hex_digit(digits[i]);
	return unit;
}

/* The character of the \u at digits, and of the one behind it when both are a pair. */
static size_t put_unit(struct buf *out, const char *digits, const char *end)
{
	int32_t unit = read_unit(digits), low;

	if (unit >= 0xd800 && unit < 0xdc00 && end - digits >= 10 && digits[4] == '\\' &&
	    digits[5] == 'u') {
		low = read_unit(digits + 6);
		if (low >= 0xdc00 && low < 0xe000) {
			utf8_put(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
			return 10;
		}
	}
	utf8_put(out, unit);
	return 4;
}

bool json_equals(const struct json_text *text, const char *other)
{
	return str_equals((struct str){ text->ptr, text->len }, other);
}

void json_unescape(struct json_text text, struct buf *out)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *at = text.ptr, *end = at + text.len;

	while (at < end) {
		const char *next = memchr(at, '\\', (size_t)(end - at)), *letter;

		if (!next)
			next = end;
		buf_put(out, at, (size_t)(next - at));
		if (next == end)
			return;
		at = next + 2;
		letter = strchr(letters, next[1]);
		if (next[1] == 'u')
			at += put_unit(out, at, end);
		else
			buf_put_byte(out,
				     (unsigned char)(letter ? meant[letter - letters] : next[1]));
	}
}

#define MAX_POWER 19 /* of ten, in 64 bits */

static uint64_t power_of_ten(int64_t exponent)
{
	uint64_t power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

static uint64_t divide(uint64_t value, uint64_t by)
{
	return value / by + (value % by >= by / 2);
}

bool json_scale(struct json_number n, int scale, int64_t *ret)
{
	int64_t exponent = n.exponent + scale;
	uint64_t value = n.digits;

	if (n.is_none)
		return false;
	if (exponent < -MAX_POWER)
		value = 0;
	else if (exponent < 0)
		value = divide(value, power_of_ten(-exponent));
	else if (value && (exponent > MAX_POWER ||
			   __builtin_mul_overflow(value, power_of_ten(exponent), &value)))
		return false;
	if (value > INT64_MAX)
		return false;
	*ret = n.is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}

struct json_number json_number_or_skip(struct json *j)
{
	char first = json_peek(j);

	if (first == '-' || number_is_digit(first))
		return json_number(j);
	json_skip(j);
	return (struct json_number){ .is_none = true };
}
