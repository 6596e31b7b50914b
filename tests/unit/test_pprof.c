/* SPDX-License-Identifier: MIT */
#include "format/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/pprof/fields.h"
#include "format/pprof/proto.h"
#include "tap.h"

/* A field of the profile; its message is written as a string of bytes. */
struct field {
	uint32_t number;
	const char *bytes; /* [0..len) */
	size_t len;
};
#define FIELD(number, text)                    \
	{                                      \
		number, text, sizeof(text) - 1 \
	}

/* Samples first and strings last, as most writers do. Location 1 is main with work inlined,
 * location 9 has an address alone. */
static const struct field good[] = {
	FIELD(PROFILE_SAMPLE_TYPE, "\x08\x01\x10\x02"),
	FIELD(PROFILE_SAMPLE, "\x0a\x02\x09\x01\x12\x01\x05"),
	FIELD(PROFILE_MAPPING, "\x08\x05\x10\x80\x20\x18\x80\x40\x28\x05"),
	FIELD(PROFILE_LOCATION, "\x08\x01\x18\x81\x20\x22\x02\x08\x02\x22\x04\x08\x01\x10\x07"),
	FIELD(PROFILE_LOCATION, "\x08\x09\x10\x05\x18\x90\x20"),
	FIELD(PROFILE_FUNCTION, "\x08\x01\x10\x03"),
	FIELD(PROFILE_FUNCTION, "\x08\x02\x10\x04"),
	FIELD(PROFILE_STRING_TABLE, ""),
	FIELD(PROFILE_STRING_TABLE, "samples"),
	FIELD(PROFILE_STRING_TABLE, "count"),
	FIELD(PROFILE_STRING_TABLE, "main"),
	FIELD(PROFILE_STRING_TABLE, "work"),
	FIELD(PROFILE_STRING_TABLE, "libc.so.6"),
};

static void put_fields(struct buf *b, const struct field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		proto_put_bytes(b, fields[i].number, fields[i].bytes, fields[i].len);
}

static struct profile *read_bytes(const struct buf *b, struct err *e)
{
	struct profile *p = profile_new();

	*e = (struct err){ 0 };
	if (pprof_read(p, (const unsigned char *)b->data, b->len, e) == 0)
		return p;
	profile_free(p);
	return NULL;
}

static void check_good(const struct profile *p)
{
	struct sample s = profile_get_sample(p, 0);
	struct stack_node node = profile_get_node(p, s.node);
	struct location leaf = profile_get_location(p, node.location);
	struct location root = profile_get_location(p, profile_get_node(p, node.parent).location);

	CHECK_INT(s.values[0], 5);
	CHECK_INT(leaf.address, 0x1010);
	CHECK_INT(leaf.line_count, 0);
	CHECK_INT(profile_get_mapping(p, leaf.mapping)->limit, 0x2000);
	CHECK_STR(profile_text(p, profile_get_mapping(p, leaf.mapping)->path), "libc.so.6");
	if (!CHECK_INT(root.line_count, 2))
		return;
	CHECK_STR(profile_text(p, profile_get_function(p, root.lines[0].function)->name), "work");
	CHECK_STR(profile_text(p, profile_get_function(p, root.lines[1].function)->name), "main");
	CHECK_INT(root.lines[1].line, 7);
}

static void test_reads_tables_in_any_order(void)
{
	for (int backwards = 0; backwards <= 1; backwards++) {
		CLEANUP(buf_fini) struct buf b = { 0 };
		struct profile *p;
		struct err e;

		/* the strings keep their order, because it numbers them */
		if (backwards)
			put_fields(&b, good + 7, ARRAY_LEN(good) - 7);
		for (size_t i = 7; backwards && i-- > 0;)
			put_fields(&b, good + i, 1);
		if (!backwards)
			put_fields(&b, good, ARRAY_LEN(good));
		p = read_bytes(&b, &e);
		CHECK_STR(e.msg, "");
		if (p)
			check_good(p);
		profile_free(p);
	}
}

/* What is put behind a good profile, and what is said about it. */
static void test_refused(void)
{
	static const struct {
		struct field field;
		const char *reason;
	} rows[] = {
		{ FIELD(2, "\x0a\x01\x07\x12\x01\x05"), "unknown location id 7" },
		{ FIELD(2, "\x0a\x01\x00\x12\x01\x05"), "unknown location id 0" },
		{ FIELD(2, "\x08\x07\x12\x01\x05"), "unknown location id 7" },
		{ FIELD(2, "\x0a\x01\x09"), "sample with 0 values, but there are 1 sample types" },
		{ FIELD(2, "\x12\x02\x05\x06"),
		  "sample with 2 values, but there are 1 sample types" },
		{ FIELD(2, "\x0a\x05\x09"), "sample is cut off" },
		{ FIELD(2, "\x0a\x01\x89\x12\x01\x05"), "location id is cut off" },
		{ FIELD(2, "\x12\x01\x85"), "value is cut off" },
		{ FIELD(2, "\x12\x01\x05\x07"), "sample is malformed" },
		{ FIELD(2, "\x12\x01\x05\x1a\x02\x08\x63"), "string index 99 of 6 strings" },
		{ FIELD(2, "\x12\x01\x05\x1d\x01\x01\x01\x01"),
		  "field 3 of a sample has no length" },
		{ FIELD(1, "\x08\x01\x10\x02"), "sample type samples/count is there twice" },
		{ FIELD(1, "\x08\x63"), "string index 99 of 6 strings" },
		{ FIELD(1, "\x0a\x00"), "field 1 of a value type is not a number" },
		{ FIELD(3, "\x08\x05"), "a second mapping with the id 5" },
		{ FIELD(3, "\x10\x05"), "mapping without an id" },
		{ FIELD(3, "\x08\x06\x28\x63"), "string index 99 of 6 strings" },
		{ FIELD(4, "\x08\x09"), "a second location with the id 9" },
		{ FIELD(4, "\x18\x05"), "location without an id" },
		{ FIELD(4, "\x08\x03\x22\x02\x08\x07"), "unknown function id 7" },
		{ FIELD(4, "\x08\x03\x20\x01"), "field 4 of a location has no length" },
		{ FIELD(5, "\x08\x02"), "a second function with the id 2" },
		{ FIELD(5, "\x10\x01"), "function without an id" },
		{ FIELD(5, "\x08\x03\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		  "string index -1 of 6 strings" },
		{ FIELD(9, ""), "field 9 of a profile is not a number" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 }, want = { 0 };
		struct profile *p;
		struct err e;

		put_fields(&b, good, ARRAY_LEN(good));
		buf_printf(&want, "byte %zu: %s", b.len, rows[i].reason);
		put_fields(&b, &rows[i].field, 1);
		p = read_bytes(&b, &e);
		CHECK(!p);
		CHECK_STR(e.msg, want.data);
		profile_free(p);
	}
}

static void test_refused_as_a_whole(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *message;
	} rows[] = {
		{ "", 0, "byte 0: the file is empty" },
		{ "\x32\x01x", 3, "byte 0: string_table[0] is not empty" },
		{ "\x48\x01", 2, "byte 2: no string table" },
		{ "\x32\x00\x12\x00", 4, "byte 2: sample, but no sample type" },
		{ "\x32\x00\x32\x05x", 5, "byte 2: profile is cut off" },
		{ "\x32\x00\x07", 3, "byte 2: profile is malformed" },
		{ "\x32\x00\x48\x01\x48\x01", 6,
		  "byte 4: a second profile begins here; 'auger merge' puts profiles together" },
		{ "\x32\x00\xa3\x01\x08\x01", 6, "byte 2: profile is cut off" }, /* open group */
		{ "\x32\x00\xa4\x01", 4, "byte 2: profile is malformed" },       /* its end alone */
		{ "\x1f\x8b\x08\x00", 4, "byte 4: gzip stream ends early" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };
		struct profile *p;
		struct err e;

		buf_put(&b, rows[i].bytes, rows[i].len);
		p = read_bytes(&b, &e);
		CHECK(!p);
		CHECK_STR(e.msg, rows[i].message);
		profile_free(p);
	}
}

/* Behind the good profile, and how many distinct samples there are then. */
static void test_accepted(void)
{
	static const struct {
		struct field field;
		size_t samples;
	} rows[] = {
		{ FIELD(2, "\x0a\x02\x09\x01\x12\x01\x05"), 1 },     /* the same again */
		{ FIELD(2, "\x08\x09\x08\x01\x10\x05"), 1 },         /* not packed */
		{ FIELD(2, "\x08\x09\x0a\x01\x01\x12\x01\x05"), 1 }, /* both */
		{ FIELD(2, "\x12\x01\x05"), 2 },                     /* no stack */
		{ FIELD(2, "\x0a\x01\x01\x12\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 2 },
		{ FIELD(2, "\x0a\x02\x09\x01\x12\x01\x05\x1a\x04\x08\x03\x10\x04"), 2 }, /* label */
		{ FIELD(2, "\x0a\x02\x09\x01\x12\x01\x05\x1a\x04\x08\x03\x18\x00"), 2 },
		{ FIELD(4, "\x08\x02\x10\x63\x18\x05"), 1 }, /* unknown mapping */
		{ FIELD(4, "\x08\x02\x10\x05\x18\x05"), 1 }, /* outside its mapping */
		{ FIELD(4, "\x08\x02\x22\x00"), 1 },         /* line without a function */
		{ FIELD(5, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 1 }, /* large id */
		{ FIELD(99, "unknown"), 1 },
		{ FIELD(PROFILE_RANK_STATISTICS, "an extension"), 1 },
		{ FIELD(PROFILE_JOURNAL, "of no spool, for it is not first"), 1 },
		{ FIELD(2, "\x0a\x02\x09\x01\x12\x01\x05\xa3\x01\x08\x01\xa4\x01"), 1 }, /* group */
		{ FIELD(2, "\x0a\x02\x09\x01\x12\x01\x05\xa5\x01\x01\x01\x01\x01"), 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };
		struct profile *p;
		struct err e;

		put_fields(&b, good, ARRAY_LEN(good));
		put_fields(&b, &rows[i].field, 1);
		CHECK(pprof_detect((unsigned char *)b.data, b.len));
		p = read_bytes(&b, &e);
		CHECK_STR(e.msg, "");
		if (p)
			CHECK(profile_get_sample(p, profile_sample_count(p) - 1).node != 0);
		CHECK_INT(p ? (long long)profile_sample_count(p) : -1, rows[i].samples);
		profile_free(p);
	}
}

/* Everything that a profile can hold. */
static struct profile *full_profile(void)
{
	struct profile *p = profile_new();
	struct profile_info *info = profile_info(p);
	struct mapping m = { .start = 0x400000,
			     .limit = UINT64_MAX,
			     .offset = 0x1000,
			     .path = profile_str(p, "/bin/x"),
			     .build_id = profile_str(p, "abcdef"),
			     .has_functions = true,
			     .has_inline_frames = true };
	struct function f = { .name = profile_str(p, "f(int)"),
			      .system_name = profile_str(p, "_Z1fi"),
			      .file = profile_str(p, "f.cc"),
			      .start_line = 3 };
	struct line lines[] = { { profile_add_function(p, &f), INT64_MIN }, { 0, 12 } };
	struct location l = { .mapping = profile_add_mapping(p, &m),
			      .address = UINT64_MAX,
			      .lines = lines,
			      .line_count = 2,
			      .is_folded = true };
	struct label labels[] = {
		{ .key = profile_str(p, "pid"), .num = INT64_MIN, .unit = profile_str(p, "id") },
		{ .key = profile_str(p, "cpu"), .num = 0 },
		{ .key = profile_str(p, "comm"), .str = profile_str(p, "a;b") },
	};
	uint32_t node = profile_push(p, 0, profile_name_location(p, "main", 4));

	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	node = profile_push(p, node, profile_add_location(p, &l));
	profile_add(p, node, profile_add_labels(p, labels, 3), (int64_t[]){ INT64_MAX, INT64_MIN });
	profile_add(p, node, 0, (int64_t[]){ 0, 1 });
	*info = (struct profile_info){
		.time_ns = 1,
		.duration_ns = 2,
		.period_type = { profile_str(p, "cpu"), profile_str(p, "nanoseconds") },
		.period = 1001001,
		.default_type = profile_str(p, "cpu"),
		.drop_frames = profile_str(p, "drop"),
		.keep_frames = profile_str(p, "keep"),
		.doc_url = profile_str(p, "http://x"),
	};
	profile_add_comment(p, "auger record");
	profile_add_comment(p, "");
	profile_add_comment(p, "auger record");
	return p;
}

static void check_full(const struct profile *p)
{
	const struct profile_info *info = profile_get_info(p);
	struct sample s = profile_get_sample(p, 0);
	struct location l = profile_get_location(p, profile_get_node(p, s.node).location);
	const struct mapping *m = profile_get_mapping(p, l.mapping);
	size_t label_count;
	const struct label *labels = profile_get_labels(p, s.labels, &label_count);

	CHECK_INT(profile_sample_count(p), 2);
	CHECK_INT(s.values[0], INT64_MAX);
	CHECK_INT(s.values[1], INT64_MIN);
	CHECK(l.is_folded && l.address == UINT64_MAX && l.line_count == 2);
	CHECK_INT(l.lines[0].line, INT64_MIN);
	CHECK_INT(l.lines[1].function, 0);
	CHECK_INT(profile_get_function(p, l.lines[0].function)->start_line, 3);
	CHECK(m->has_functions && m->has_inline_frames && !m->has_filenames);
	CHECK_STR(profile_text(p, m->build_id), "abcdef");
	if (CHECK_INT(label_count, 3)) {
		CHECK_STR(profile_text(p, labels[0].str), "a;b");
		CHECK_INT(labels[2].num, INT64_MIN);
		CHECK_STR(profile_text(p, labels[2].unit), "id");
	}
	CHECK_INT(info->time_ns, 1);
	CHECK_INT(info->duration_ns, 2);
	CHECK_INT(info->period, 1001001);
	CHECK_STR(profile_text(p, info->default_type), "cpu");
	CHECK_STR(profile_text(p, info->keep_frames), "keep");
	CHECK_STR(profile_text(p, info->doc_url), "http://x");
	CHECK_INT(profile_comment_count(p), 3);
	CHECK_STR(profile_get_comment(p, 1), "");
}

static void test_writes_what_it_read(void)
{
	CLEANUP(buf_fini) struct buf first = { 0 }, second = { 0 };
	struct profile *p = full_profile(), *again;
	struct err e;

	CHECK_INT(pprof_write(p, &first, &e), 0);
	profile_free(p);
	again = read_bytes(&first, &e);
	CHECK_STR(e.msg, "");
	if (!CHECK(again))
		return;
	check_full(again);
	CHECK_INT(pprof_write(again, &second, &e), 0);
	CHECK_INT(second.len, first.len);
	CHECK(second.len == first.len && memcmp(first.data, second.data, first.len) == 0);
	profile_free(again);
}

static void test_writes_only_what_is_used(void)
{
	CLEANUP(buf_fini) struct buf full = { 0 }, plain = { 0 };
	struct profile *p = profile_new(), *q = profile_new();
	struct err e;

	profile_add_type(p, "samples", "count");
	profile_add_type(q, "samples", "count");
	profile_name_location(p, "unused", 6);
	profile_add_mapping(p, &(struct mapping){ .start = 1 });
	profile_push(p, 0, profile_name_location(p, "f", 1));
	profile_add(p, profile_push(p, 0, profile_name_location(p, "g", 1)), 0, (int64_t[]){ 1 });
	profile_add(q, profile_push(q, 0, profile_name_location(q, "g", 1)), 0, (int64_t[]){ 1 });
	CHECK_INT(pprof_write(p, &full, &e), 0);
	CHECK_INT(pprof_write(q, &plain, &e), 0);
	CHECK(full.len == plain.len && memcmp(full.data, plain.data, full.len) == 0);
	profile_free(p);
	profile_free(q);
}

/* The pseudo frame makes samples without a stack count in every tool. */
static void test_no_stack(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	struct profile *p = profile_new(), *again;
	struct location l;
	struct err e;

	profile_add_type(p, "samples", "count");
	profile_add(p, 0, 0, (int64_t[]){ 7 });
	CHECK_INT(pprof_write(p, &b, &e), 0);
	again = read_bytes(&b, &e);
	if (CHECK(again) && CHECK(profile_get_sample(again, 0).node)) {
		l = profile_get_location(
			again, profile_get_node(again, profile_get_sample(again, 0).node).location);
		CHECK_STR(
			profile_text(again, profile_get_function(again, l.lines[0].function)->name),
			"[no stack]");
	}
	profile_free(p);
	profile_free(again);
}

static void test_too_many_types(void)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	struct profile *p;
	struct err e;

	for (int i = 0; i <= PROFILE_MAX_TYPES; i++)
		put_fields(&b, good, 1);
	put_fields(&b, good + 1, ARRAY_LEN(good) - 1);
	p = read_bytes(&b, &e);
	CHECK(!p);
	CHECK_STR(e.msg, "byte 384: more than 64 sample types");
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_reads_tables_in_any_order);
	TAP_CASE(test_refused);
	TAP_CASE(test_refused_as_a_whole);
	TAP_CASE(test_accepted);
	TAP_CASE(test_writes_what_it_read);
	TAP_CASE(test_writes_only_what_is_used);
	TAP_CASE(test_no_stack);
	TAP_CASE(test_too_many_types);
	return tap_done();
}
