/* SPDX-License-Identifier: MIT */
#include "format/gperftools/gperftools.h"

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "tap.h"

static void put_word(struct buf *b, uint64_t word, size_t bytes, bool is_big_endian)
{
	for (size_t i = 0; i < bytes; i++)
		buf_put_byte(b, (unsigned char)(word >> 8 * (is_big_endian ? bytes - 1 - i : i)));
}

static void put_words(struct buf *b, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_put_u64(b, words[i]);
}

static struct profile *read_bytes(const struct buf *b, struct err *e)
{
	struct profile *p = profile_new();

	*e = (struct err){ 0 };
	if (gperftools_read(p, (const unsigned char *)b->data, b->len, e) == 0)
		return p;
	profile_free(p);
	return NULL;
}

static struct location frame(const struct profile *p, size_t sample, unsigned above)
{
	uint32_t node = profile_get_sample(p, sample).node;

	while (above--)
		node = profile_get_node(p, node).parent;
	return profile_get_location(p, profile_get_node(p, node).location);
}

static const char *path_of(const struct profile *p, struct location l)
{
	return profile_text(p, profile_get_mapping(p, l.mapping)->path);
}

/* 10 ms; 3 times 0x1010 called from before 0x2021; and maps. */
static const uint64_t small[] = { 0, 3, 0, 10000, 0, 3, 2, 0x1010, 0x2021, 0, 1, 0 };
static const char maps[] = "00001000-00002000 r-xp 00000000 08:01 7   /bin/x y\n"
			   "build=/opt/b\n"
			   "00002000-00003000: $build/lib.so\n"
			   "00003000-00004000 rw-p 00000000 00:00 0\n"
			   "not a map\n";

static void test_all_shapes(void)
{
	static const size_t sizes[] = { 4, 8 };

	for (size_t i = 0; i < 4; i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };
		struct profile *p;
		struct err e;

		for (size_t k = 0; k < ARRAY_LEN(small); k++)
			put_word(&b, small[k], sizes[i / 2], i % 2);
		buf_put_str(&b, maps);
		CHECK(gperftools_detect((unsigned char *)b.data, b.len));
		p = read_bytes(&b, &e);
		CHECK_STR(e.msg, "");
		if (!p)
			continue;
		CHECK_INT(profile_get_sample(p, 0).values[0], 3);
		CHECK_INT(profile_get_sample(p, 0).values[1], 30000000);
		CHECK_INT(profile_get_info(p)->period, 10000000);
		CHECK_INT(frame(p, 0, 0).address, 0x1010);
		CHECK_STR(path_of(p, frame(p, 0, 0)), "/bin/x y");
		CHECK_INT(frame(p, 0, 1).address, 0x2020);
		CHECK_STR(path_of(p, frame(p, 0, 1)), "/opt/b/lib.so");
		profile_free(p);
	}
}

#define WORDS(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8

/* What is read, and the words that are written again; NULL: the same. */
static void test_rewrites(void)
{
	const struct {
		const uint64_t *in;
		size_t in_count;
		const uint64_t *out;
		size_t out_count;
	} rows[] = {
		{ WORDS(0, 3, 0, 10000, 0, 0, 1, 0), NULL, 0 },
		{ WORDS(0, 3, 0, 10000, 0, 3, 2, 0x10, 0x21, 0, 1, 0), NULL, 0 },
		/* no end; longer header; period 0 */
		{ WORDS(0, 3, 0, 1, 0, 3, 1, 0x10), WORDS(0, 3, 0, 1, 0, 3, 1, 0x10, 0, 1, 0) },
		{ WORDS(0, 4, 1, 7, 0, 9, 3, 1, 0x10), WORDS(0, 3, 0, 7, 0, 3, 1, 0x10, 0, 1, 0) },
		{ WORDS(0, 3, 0, 0, 0, 3, 1, 0x10), WORDS(0, 3, 0, 1, 0, 3, 1, 0x10, 0, 1, 0) },
		/* equal stacks are one; counts of 0 are none; recursion stays */
		{ WORDS(0, 3, 0, 1, 0, 3, 1, 0x10, 4, 1, 0x10, 0, 1, 0x20),
		  WORDS(0, 3, 0, 1, 0, 7, 1, 0x10, 0, 1, 0) },
		{ WORDS(0, 3, 0, 1, 0, 3, 3, 0x10, 0x10, 0x10, 0, 1, 0), NULL, 0 },
		/* the kernel's addresses lose their top bit; 0 stays 0 */
		{ WORDS(0, 3, 0, 1, 0, 3, 2, 0xffffffff81000010, 0),
		  WORDS(0, 3, 0, 1, 0, 3, 2, 0x7fffffff81000010, 0, 0, 1, 0) },
		/* no stack */
		{ WORDS(0, 3, 0, 1, 0, 3, 0), WORDS(0, 3, 0, 1, 0, 3, 1, 0x100000, 0, 1, 0) },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf in = { 0 }, want = { 0 }, out = { 0 };
		struct profile *p;
		struct err e;

		put_words(&in, rows[i].in, rows[i].in_count);
		put_words(&want, rows[i].out ? rows[i].out : rows[i].in,
			  rows[i].out ? rows[i].out_count : rows[i].in_count);
		p = read_bytes(&in, &e);
		CHECK_STR(e.msg, "");
		if (!p)
			continue;
		CHECK_INT(gperftools_write(p, &out, &e), 0);
		CHECK(out.len == want.len && memcmp(out.data, want.data, out.len) == 0);
		profile_free(p);
	}
}

static void test_refused(void)
{
	const struct {
		const uint64_t *words;
		size_t count;
		const char *message;
	} rows[] = {
		{ WORDS(0, 3, 0, 1), "byte 0: not the header of a CPU profile" },
		{ WORDS(0, 2, 0, 1, 0), "byte 0: not the header of a CPU profile" },
		{ WORDS(1, 3, 0, 1, 0), "byte 0: not the header of a CPU profile" },
		{ WORDS(0, 3, 0, 1, 0, 3), "byte 40: record is cut off" },
		{ WORDS(0, 3, 0, 1, 0, 3, 2, 0x10), "byte 40: record is cut off" },
		{ WORDS(0, 3, 0, 1, 0, 3, UINT64_MAX, 0x10),
		  "byte 40: stack of 18446744073709551615 frames" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };
		struct profile *p;
		struct err e;

		put_words(&b, rows[i].words, rows[i].count);
		p = read_bytes(&b, &e);
		CHECK(!p);
		CHECK_STR(e.msg, rows[i].message);
		profile_free(p);
	}
}

static void test_refused_symbols(void)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "--- symbol\n0x10 f\n", "byte 18: the symbols do not end" },
		{ "--- symbol\n0x10\n", "byte 11: no address and name" },
		{ "--- symbol\n0xx f\n", "byte 11: no address and name" },
		{ "--- symbol\n---\n", "byte 15: no profile behind the symbols" },
		{ "--- symbol\n---\n--- profile\nxx", "byte 27: not the header of a CPU profile" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf b = { 0 };
		struct profile *p;
		struct err e;

		buf_put_str(&b, rows[i].text);
		CHECK(gperftools_symbols_detect((unsigned char *)b.data, b.len));
		p = read_bytes(&b, &e);
		CHECK(!p);
		CHECK_STR(e.msg, rows[i].message);
		profile_free(p);
	}
}

static uint32_t named_location(struct profile *p, uint32_t mapping, uint64_t address,
			       const char *inner, const char *outer)
{
	struct line lines[2] = { 0 };
	const char *const names[] = { inner, outer };

	for (int i = 0; i < 2; i++)
		lines[i].function = profile_add_function(
			p, &(struct function){ .name = profile_str(p, names[i]) });
	return profile_add_location(p, &(struct location){ .mapping = mapping,
							   .address = address,
							   .lines = lines,
							   .line_count = 2 });
}

/* Two files that are mapped to the same addresses, and a frame that has only a name. */
static struct profile *overlapping(void)
{
	struct profile *p = profile_new();
	uint32_t a = profile_add_mapping(p, &(struct mapping){ .start = 0x1000,
							       .limit = 0x9000,
							       .offset = 0x500,
							       .path = profile_str(p, "/bin/a") });
	uint32_t b = profile_add_mapping(
		p, &(struct mapping){
			   .start = 0x1000, .limit = 0x9000, .path = profile_str(p, "/lib/b.so") });
	uint32_t node = profile_push(p, 0, profile_name_location(p, "stage", 5));

	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	profile_info(p)->period_type = profile_get_type(p, 1);
	profile_info(p)->period = 2000000;
	node = profile_push(p, node, named_location(p, a, 0x2010, "operator--", " inlined\n"));
	node = profile_push(p, node, named_location(p, b, 0x2020, "f", "g"));
	profile_add(p, node, 0, (int64_t[]){ 5, 10000000 });
	profile_add(p, 0, 0, (int64_t[]){ 1, 2000000 });
	return p;
}

static void test_symbols(void)
{
	static const char want[] = "--- symbol\n"
				   "binary=/bin/a\n"
				   "0x0000000000002010 inlined--operator- -\n"
				   "0x0000000000100020 g--f\n"
				   "0x0000000000200000 stage\n"
				   "0x0000000000200010 [no stack]\n"
				   "---\n"
				   "--- profile\n";
	static const char want_maps[] = "00002000-00003000 r-xp 00001500 00:00 0 /bin/a\n"
					"00100000-00101000 r-xp 00001000 00:00 0 /lib/b.so\n"
					"00200000-00201000 r-xp 00000000 00:00 0 [names]\n";
	CLEANUP(buf_fini) struct buf first = { 0 }, second = { 0 };
	struct profile *p = overlapping(), *again;
	struct err e;

	CHECK_INT(gperftools_symbols_write(p, &first, &e), 0);
	profile_free(p);
	CHECK(first.len > sizeof want && memcmp(first.data, want, sizeof want - 1) == 0);
	CHECK_STR(first.data + first.len - (sizeof want_maps - 1), want_maps);
	again = read_bytes(&first, &e);
	CHECK_STR(e.msg, "");
	if (!again)
		return;
	CHECK_INT(frame(again, 0, 0).line_count, 2);
	CHECK_STR(profile_text(
			  again,
			  profile_get_function(again, frame(again, 0, 0).lines[0].function)->name),
		  "f");
	CHECK_INT(frame(again, 0, 2).address, 0);
	CHECK_INT(frame(again, 0, 2).mapping, 0);
	CHECK_INT(gperftools_symbols_write(again, &second, &e), 0);
	CHECK(second.len == first.len && memcmp(first.data, second.data, first.len) == 0);
	profile_free(again);
}

/* Other types than what the period counts. */
static void test_other_values(void)
{
	static const struct {
		const char *type, *unit;
		uint64_t want; /* of 12,600 */
	} rows[] = {
		{ "offcpu", "nanoseconds", 13 }, /* microseconds */
		{ "alloc", "bytes", 12600 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };
		struct profile *p = profile_new();
		struct err e;
		uint32_t node = profile_push(
			p, 0, profile_add_location(p, &(struct location){ .address = 0x1000 }));

		profile_add_type(p, "samples", "count");
		profile_add_type(p, rows[i].type, rows[i].unit);
		profile_add(p, node, 0, (int64_t[]){ 1, 12600 });
		CHECK_INT(gperftools_write(p, &out, &e), 0);
		CHECK_INT(out.data[24], 1);
		CHECK_INT((unsigned char)out.data[40] + 256 * (unsigned char)out.data[41],
			  rows[i].want);
		profile_add(p, node, 0, (int64_t[]){ 0, -20000 });
		CHECK_INT(gperftools_write(p, &out, &e), -EINVAL);
		CHECK_STR(e.msg, "negative values cannot be written");
		profile_free(p);
	}
}

int main(void)
{
	TAP_CASE(test_all_shapes);
	TAP_CASE(test_rewrites);
	TAP_CASE(test_refused);
	TAP_CASE(test_refused_symbols);
	TAP_CASE(test_symbols);
	TAP_CASE(test_other_values);
	return tap_done();
}
