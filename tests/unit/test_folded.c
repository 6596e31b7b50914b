/* SPDX-License-Identifier: MIT */
#include "format/folded.h"

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "tap.h"

static struct profile *read_text(const char *text, struct err *e)
{
	struct profile *p = profile_new();

	*e = (struct err){ 0 };
	if (folded_read(p, (const unsigned char *)text, strlen(text), e) == 0)
		return p;
	profile_free(p);
	return NULL;
}

/* What is read, and how it is written again; NULL: as it was. */
static void test_rewrites(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", NULL },
		{ "a 1\n", NULL },
		{ "main;read input;parse_[k] 12\n", NULL },
		{ "a;b 2\na 1\na;b 3\n", "a 1\na;b 5\n" },
		{ "a;b 1", "a;b 1\n" },                           /* no newline at the end */
		{ "a;b 1\r\n\r\nc 2\r\n", "a;b 1\nc 2\n" },       /* CRLF, empty lines */
		{ "# made by hand\n#x 3\na 1\n", "#x 3\na 1\n" }, /* comments have no value */
		{ "a;b\t 7 \n", "a;b 7\n" },                      /* blanks of any kind */
		{ "a;;b; 4\n", "a;[unknown];b;[unknown] 4\n" },   /* empty frames */
		{ " 5\n", "[no stack] 5\n" },
		{ "a -3\n", NULL },
		{ "a 9223372036854775807\n", NULL },
		{ "a -9223372036854775808\n", NULL },
		{ "a 1\na -1\nb 1\n", "b 1\n" }, /* a sum of 0 is no line */
		{ "b 1\na;x 1\na b;x 1\na 1\n", "a 1\na b;x 1\na;x 1\nb 1\n" }, /* byte order */
		{ "a 1.5\n", "a 1500\n" },
		{ "a 0.000001\nb 1\n", "a 1\nb 1000000\n" },
		{ "a 12.000\n", "a 12\n" },
		{ "a 1 2\nb 3\n", "a_1 2\nb 3\n" }, /* one line has no second value */
		{ "a 1 2\nb 3 4\n", "a 2\nb 4\n" }, /* two values: the second is shown */
		{ "5 7\n", NULL },
		{ "a\xff\x01 b 7\n", "a\xff  b 7\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };
		struct err e;
		struct profile *p = read_text(rows[i].in, &e);

		CHECK_STR(e.msg, "");
		if (!CHECK(p))
			continue;
		CHECK_INT(folded_write(p, &out, &e), 0);
		CHECK_STR(out.data ? out.data : "", rows[i].out ? rows[i].out : rows[i].in);
		profile_free(p);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *in, *message;
	} rows[] = {
		{ "\n\na;b c\n", "line 3: no value at the end of the line" },
		{ "12\n", "line 1: no value at the end of the line" },
		{ "a;12\n", "line 1: no value at the end of the line" },
		{ "a 1.2.3\n", "line 1: no value at the end of the line" },
		{ "a .\n", "line 1: no value at the end of the line" },
		{ "a 1e5\n", "line 1: no value at the end of the line" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e;
		struct profile *p = read_text(rows[i].in, &e);

		CHECK(!p);
		CHECK_STR(e.msg, rows[i].message);
		profile_free(p);
	}
}

/* Lines without a value are left out, and counted. */
static void test_skips(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct err e;
	struct profile *p = read_text("made by hand\na;b 1\nb\na;c 2 x\nc 3\n", &e);

	if (!CHECK(p))
		return;
	CHECK_INT(profile_get_info(p)->skipped_lines, 3);
	CHECK_INT(folded_write(p, &out, &e), 0);
	CHECK_STR(out.data, "a;b 1\nc 3\n");
	profile_free(p);
}

static void test_binary_is_refused(void)
{
	static const unsigned char bytes[] = "a 1\nb\0c 2\n";
	struct profile *p = profile_new();
	struct err e;

	CHECK_INT(folded_read(p, bytes, sizeof bytes - 1, &e), -EINVAL);
	CHECK_STR(e.msg, "line 2: not text: there is a NUL byte");
	profile_free(p);
}

static void test_two_values_are_two_types(void)
{
	struct err e;
	struct profile *p = read_text("a;b 1 2.5\na;c 3 0\n", &e);

	if (!CHECK(p) || !CHECK_INT(profile_type_count(p), 2))
		return;
	CHECK_STR(profile_text(p, profile_get_type(p, 0).type), "before");
	CHECK_STR(profile_text(p, profile_get_type(p, 0).unit), "count");
	CHECK_STR(profile_text(p, profile_get_type(p, 1).type), "after");
	CHECK_STR(profile_text(p, profile_get_type(p, 1).unit), "thousandths");
	CHECK_INT(profile_get_sample(p, 0).values[0], 1);
	CHECK_INT(profile_get_sample(p, 0).values[1], 2500);
	CHECK_INT(profile_get_sample(p, 1).values[0], 3);
	profile_free(p);
}

/* The shared beginning of two lines must end where a frame ends in both. */
static void test_neighbours(void)
{
	static const char *const texts[] = {
		"ab;cd 1\nab;c 1\n",     "ab;c 1\nab;cd 1\n",  "ab 1\nab;c 1\n",
		"ab;c;d 1\nab;c 1\n",    "ab;c 1\nab;c;d 1\n", "ab;c 1\nab;c 1\n",
		"ab;c;e 1\nab;cd;e 1\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 }, again = { 0 };
		struct err e;
		struct profile *p = read_text(texts[i], &e), *q;

		CHECK_INT(folded_write(p, &out, &e), 0);
		/* the same lines, the second alone first */
		q = read_text(strchr(texts[i], '\n') + 1, &e);
		CHECK_INT(folded_read(q, (const unsigned char *)texts[i],
				      (size_t)(strchr(texts[i], '\n') + 1 - texts[i]), &e),
			  0);
		CHECK_INT(folded_write(q, &again, &e), 0);
		CHECK_STR(again.data, out.data);
		profile_free(p);
		profile_free(q);
	}
}

static uint32_t add_location(struct profile *p, uint32_t mapping, uint64_t address,
			     const char *const *names, uint32_t count)
{
	struct line lines[4];

	for (uint32_t i = 0; i < count; i++)
		lines[i] = (struct line){
			profile_add_function(
				p, &(struct function){ .name = profile_str(p, names[i]) }),
			0
		};
	return profile_add_location(p, &(struct location){ .mapping = mapping,
							   .address = address,
							   .lines = lines,
							   .line_count = count });
}

/* Inlined functions, threads, code without a name, names that would break the line. */
static void test_names(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = profile_new();
	uint32_t lib = profile_add_mapping(
		p, &(struct mapping){ .path = profile_str(p, "/usr/lib/libc.so.6") });
	uint32_t kernel = profile_add_mapping(
		p, &(struct mapping){ .path = profile_str(p, "[kernel.kallsyms]") });
	const char *const inlined[] = { "inner", "outer;x", " f 12 " };
	struct label comm = { .key = profile_str(p, "comm"), .str = profile_str(p, "my app;1") };
	uint32_t node = profile_push(p, 0, add_location(p, lib, 1, inlined, 3));
	struct err e;

	profile_add_type(p, "alloc_objects", "count");
	profile_add_type(p, "alloc_space", "bytes");
	profile_info(p)->default_type = profile_str(p, "alloc_space");
	profile_add(p, node, 0, (int64_t[]){ 1, 10 });
	node = profile_push(p, node, add_location(p, lib, 2, NULL, 0));
	profile_add(p, node, profile_add_labels(p, &comm, 1), (int64_t[]){ 1, 20 });
	node = profile_push(p, node, add_location(p, kernel, 2, NULL, 0));
	node = profile_push(p, node, add_location(p, 0, 2, NULL, 0));
	profile_add(p, node, 0, (int64_t[]){ 1, 30 });
	profile_add(p, 0, 0, (int64_t[]){ 1, 40 });
	profile_add(p, node, profile_add_labels(p, &comm, 1), (int64_t[]){ 1, 0 });
	CHECK_INT(folded_write(p, &out, &e), 0);
	CHECK_STR(out.data, "[no stack] 40\n"
			    "f_12;outer:x;inner 10\n"
			    "f_12;outer:x;inner;[libc.so.6];[kernel.kallsyms];[unknown] 30\n"
			    "my_app:1;f_12;outer:x;inner;[libc.so.6] 20\n");
	profile_free(p);
}

static void test_equal_names_are_one_line(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile *p = profile_new();
	const char *const name[] = { "f" };
	struct err e;

	profile_add_type(p, "samples", "count");
	profile_add(p, profile_push(p, 0, add_location(p, 0, 1, name, 1)), 0, (int64_t[]){ 1 });
	profile_add(p, profile_push(p, 0, add_location(p, 0, 2, name, 1)), 0, (int64_t[]){ 2 });
	CHECK_INT(folded_write(p, &out, &e), 0);
	CHECK_STR(out.data, "f 3\n");
	profile_free(p);
}

static void test_detect(void)
{
	static const struct {
		const char *text;
		bool is_folded;
	} rows[] = {
		{ "a;b 1\n", true },       { "# comment\n\na 1\n", true },
		{ "a 1", true },           { "a 1\n  b 2\n", true },
		{ "a 1\nb\n", false },     { "", false },
		{ "\n\n", false },         { "prog 123 4.5: cpu-clock:\n", false },
		{ "{\"a\": 1}\n", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(folded_detect((const unsigned char *)rows[i].text, strlen(rows[i].text)),
			  rows[i].is_folded);
	CHECK(!folded_detect((const unsigned char *)"a 1\n\0", 5));
}

int main(void)
{
	TAP_CASE(test_rewrites);
	TAP_CASE(test_refused);
	TAP_CASE(test_skips);
	TAP_CASE(test_binary_is_refused);
	TAP_CASE(test_two_values_are_two_types);
	TAP_CASE(test_neighbours);
	TAP_CASE(test_names);
	TAP_CASE(test_equal_names_are_one_line);
	TAP_CASE(test_detect);
	return tap_done();
}
