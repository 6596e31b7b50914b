/* SPDX-License-Identifier: MIT */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "tap.h"

/* Is the text valid JSON? wrong: why not. */
static bool is_valid(const char *text, struct json *ret)
{
	*ret = json_begin(text, strlen(text));
	json_skip(ret);
	return json_end(ret);
}

static void test_valid(void)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		" [ ] ",
		"null",
		"true",
		"false",
		"0",
		"-0",
		"1.5e-3",
		"1E+2",
		"\"\"",
		"\"a\\u00e9\\n\"",
		"[1,[2,[3,{}]],{\"a\":[]}]",
		"{\"a\":{\"b\":{}},\"c\":1}",
		"\t{\"a\" : 1 , \"b\" : [ 1 , 2 ] }\r",
		"NaN",
		"[-Infinity, Infinity]",
		"123456789012345678901234567890.5",
		"\"long enough for words of eight bytes\"",
		"\"\xff\xfe no UTF-8 \x80\x80\x80\x80\x80\x80\"",
	};
	struct json j;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(is_valid(rows[i], &j)))
			fprintf(stderr, "%s: %s\n", rows[i], j.wrong);
}

static void test_invalid(void)
{
	static const struct {
		const char *text, *wrong;
		size_t at;
	} rows[] = {
		{ "", "ends within a value", 0 },
		{ "{", "ends within a value", 1 },
		{ "[1", "ends within a list", 2 },
		{ "[1,", "ends within a value", 3 },
		{ "[1 2]", "lacks a comma", 3 },
		{ "[1,]", "lacks a value", 3 },
		{ "{\"a\"}", "lacks a colon", 4 },
		{ "{\"a\":1,}", "lacks a string", 7 },
		{ "{1:2}", "lacks a string", 1 },
		{ "[}", "lacks a value", 1 },
		{ "{]", "lacks a string", 1 },
		{ "[1}", "lacks a comma", 2 },
		{ "1 2", "has more behind its end", 2 },
		{ "01", "lacks a number", 2 },
		{ "-", "lacks a number", 1 },
		{ "1.", "has a bad number", 2 },
		{ "1e", "has a bad number", 2 },
		{ "+1", "lacks a value", 0 },
		{ "tru", "lacks true or false", 0 },
		{ "nul", "lacks a number", 0 },
		{ "\"abc", "ends within a string", 4 },
		{ "\"a\tb\"", "has a control character in a string", 2 },
		{ "\"0123456789\nabc\"", "has a control character in a string", 11 },
		{ "\"\\x\"", "has a bad escape in a string", 3 },
		{ "\"\\u12g4\"", "has a bad escape in a string", 5 },
		{ "\"\\", "has a bad escape in a string", 2 },
	};
	struct json j;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK(!is_valid(rows[i].text, &j));
		if (!CHECK_STR(j.wrong, rows[i].wrong) || !CHECK_INT(j.at - j.start, rows[i].at))
			fprintf(stderr, "of: %s\n", rows[i].text);
	}
}

static void test_depth(void)
{
	char text[2 * (JSON_MAX_DEPTH + 1) + 1];
	struct json j;

	for (size_t depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		text[2 * depth] = '\0';
		CHECK_INT(is_valid(text, &j), depth == JSON_MAX_DEPTH);
	}
	CHECK_STR(j.wrong, "nests too deep");
}

static void test_numbers(void)
{
	static const struct {
		const char *text;
		int scale;
		bool fits;
		int64_t value;
	} rows[] = {
		{ "0", 9, true, 0 },
		{ "1.504", 9, true, 1504000000 },
		{ "1e-05", 9, true, 10000 },
		{ "-2.5E2", 0, true, -250 },
		{ "1763625600.25", 9, true, 1763625600250000000 },
		{ "0.1234567891234", 9, true, 123456789 },
		{ "1.7469999999999999", 9, true, 1747000000 },
		{ "-0.0000000015", 9, true, -2 },
		{ "9223372036854775807", 0, true, INT64_MAX },
		{ "9223372036854775808", 0, false, 0 },
		{ "1e300", 0, false, 0 },
		{ "1e-300", 9, true, 0 },
		{ "1e99999999999", 9, false, 0 },
		{ "0e99999999999", 9, true, 0 },
		{ "0.000000000000000000000000000000001", 9, true, 0 },
		{ "100000000000000000000000000000", -20, true, 1000000000 },
		{ "null", 0, false, 0 },
		{ "NaN", 0, false, 0 },
		{ "-Infinity", 0, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json j = json_begin(rows[i].text, strlen(rows[i].text));
		int64_t value = 0;

		CHECK_INT(json_scale(json_number(&j), rows[i].scale, &value), rows[i].fits);
		CHECK_INT(value, rows[i].value);
		CHECK(json_end(&j));
	}
}

/* The digits that do not fit and the exponent are counted exactly, however long the text is. */
static void test_long_numbers(void)
{
	enum { ZEROS = 200000 };
	static const struct {
		const char *before, *behind;
		bool fits;
		int64_t value;
	} rows[] = {
		{ "1", "e-200000", true, 1 },
		{ "1", "e-199998", true, 100 },
		{ "0.", "7e200001", true, 7 },
		{ "1", "", false, 0 },
		{ "1", "e-99999999999999999999", true, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf text = { 0 };
		int64_t value = 0;
		struct json j;

		buf_printf(&text, "%s%0*d%s", rows[i].before, ZEROS, 0, rows[i].behind);
		if (!CHECK_INT(buf_error(&text), 0))
			continue;
		j = json_begin(text.data, text.len);
		CHECK_INT(json_scale(json_number(&j), 0, &value), rows[i].fits);
		CHECK_INT(value, rows[i].value);
		CHECK(json_end(&j));
	}
}

static void test_unescape(void)
{
	static const struct {
		const char *text, *plain;
	} rows[] = {
		{ "\"\"", "" },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t.\"", "\"\\/\b\f\n\r\t." },
		{ "\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac" },
		{ "\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!" },
		{ "\"\\ud83d\"", "\xef\xbf\xbd" },
		{ "\"\\ud83dx\\udc00\"", "\xef\xbf\xbdx\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };
		struct json j = json_begin(rows[i].text, strlen(rows[i].text));

		json_unescape(json_string(&j), &out);
		CHECK_STR(out.data ? out.data : "", rows[i].plain);
	}
}

/* A reader that takes some members and skips others. */
static void test_members(void)
{
	const char *text = "{\"skip\": [{\"n\": 9}], \"n\": 3, \"list\": [1, 2, 4], \"yes\": true}";
	struct json j = json_begin(text, strlen(text));
	struct json_list object = json_object(&j);
	struct json_text key;
	int64_t n = 0, sum = 0, value;
	bool yes = false;

	while (json_member(&j, &object, &key)) {
		if (key.len == 1) {
			CHECK(json_scale(json_number(&j), 0, &n));
		} else if (key.ptr[0] == 'l') {
			struct json_list array = json_array(&j);

			while (json_item(&j, &array))
				sum += json_scale(json_number(&j), 0, &value) ? value : 0;
		} else if (key.ptr[0] == 'y') {
			yes = json_bool(&j);
		} else {
			json_skip(&j);
		}
	}
	CHECK(json_end(&j));
	CHECK_INT(n, 3);
	CHECK_INT(sum, 7);
	CHECK(yes);
}

int main(void)
{
	TAP_CASE(test_valid);
	TAP_CASE(test_invalid);
	TAP_CASE(test_depth);
	TAP_CASE(test_numbers);
	TAP_CASE(test_long_numbers);
	TAP_CASE(test_unescape);
	TAP_CASE(test_members);
	return tap_done();
}
