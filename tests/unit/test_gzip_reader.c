/* SPDX-License-Identifier: MIT */
#include "format/gzip_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/gzip_writer.h"
#include "tap.h"

/* What a reader sees that takes a third of what is there at a time. */
static int read_all(struct gzip_reader *u, struct buf *ret, struct err *e)
{
	int rc;

	do {
		size_t left = (size_t)(u->end - u->at), take = left / 3;

		CHECK_INT(gzip_reader_position(u), ret->len);
		buf_put(ret, u->at, take);
		if (take)
			u->at += take;
		rc = gzip_reader_more(u, e);
	} while (rc > 0);
	buf_put(ret, u->at, (size_t)(u->end - u->at));
	return rc;
}

static void pack_bytes(const void *bytes, size_t len, struct buf *out)
{
	struct gzip_writer pk;
	struct err e;

	CHECK_INT(gzip_writer_open(&pk, out, &e), 0);
	buf_put(&pk.staged, bytes, len);
	gzip_writer_flush(&pk);
	CHECK_INT(gzip_writer_end(&pk, &e), 0);
	gzip_writer_close(&pk);
}

/* Words that do not repeat soon. */
static void put_noise(struct buf *b, size_t len)
{
	uint64_t state = 1;

	for (; b->len < len; state = state * UINT64_C(6364136223846793005) + 1)
		buf_put_u64(b, state);
	b->len = len;
}

/* read twice, as the profile's reader does */
static void check_twice(const struct buf *packed, const struct buf *want)
{
	struct gzip_reader u;
	struct err e = { 0 };

	CHECK_INT(gzip_reader_open(&u, (unsigned char *)packed->data, packed->len, &e), 0);
	for (int round = 0; round < 2; round++) {
		CLEANUP(buf_fini) struct buf got = { 0 };

		CHECK_INT(gzip_reader_rewind(&u, &e), 0);
		CHECK_INT(read_all(&u, &got, &e), 0);
		CHECK_STR(e.msg, "");
		CHECK(got.len == want->len &&
		      (!got.len || memcmp(got.data, want->data, got.len) == 0));
	}
	gzip_reader_close(&u);
}

static void test_all_sizes(void)
{
	/* the last is more than is kept for the second round */
	static const size_t sizes[] = { 0, 1, 4096, 300 * 1000, 40u << 20 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		CLEANUP(buf_fini) struct buf plain = { 0 }, packed = { 0 };

		put_noise(&plain, sizes[i]);
		check_twice(&plain, &plain);
		pack_bytes(plain.data, plain.len, &packed);
		CHECK(gzip_reader_detect((unsigned char *)packed.data, packed.len));
		check_twice(&packed, &plain);
	}
}

static void test_members_are_one_input(void)
{
	CLEANUP(buf_fini) struct buf packed = { 0 }, plain = { 0 };

	pack_bytes("one ", 4, &packed);
	pack_bytes("", 0, &packed);
	pack_bytes("two", 3, &packed);
	buf_put_str(&plain, "one two");
	check_twice(&packed, &plain);
}

static void test_broken_streams(void)
{
	CLEANUP(buf_fini) struct buf packed = { 0 };
	size_t whole;

	pack_bytes("contents", 8, &packed);
	whole = packed.len;
	for (size_t cut = 3; cut <= whole + 1; cut++) {
		CLEANUP(buf_fini) struct buf got = { 0 }, want = { 0 };
		struct gzip_reader u;
		struct err e = { 0 };

		CHECK_INT(gzip_reader_open(&u, (unsigned char *)packed.data, cut, &e), 0);
		CHECK_INT(read_all(&u, &got, &e), cut == whole ? 0 : -EINVAL);
		if (cut < whole)
			buf_printf(&want, "byte %zu: gzip stream ends early", cut);
		if (cut > whole)
			buf_printf(&want, "byte %zu: gzip stream has bytes behind its end", whole);
		CHECK_STR(e.msg, want.data ? want.data : "");
		gzip_reader_close(&u);
	}
}

static void test_damage_is_found(void)
{
	CLEANUP(buf_fini) struct buf packed = { 0 }, got = { 0 };
	struct gzip_reader u;
	struct err e;

	pack_bytes("contents", 8, &packed);
	packed.data[packed.len - 8] ^= 1; /* the checksum */
	CHECK_INT(gzip_reader_open(&u, (unsigned char *)packed.data, packed.len, &e), 0);
	CHECK_INT(read_all(&u, &got, &e), -EINVAL);
	CHECK(strstr(e.msg, "gzip stream is damaged"));
	gzip_reader_close(&u);
}

/* 300 MiB of zeros are 300 KiB packed: a ratio that no profile has. */
static void test_bomb(void)
{
	static const char zeros[1 << 20];
	CLEANUP(buf_fini) struct buf packed = { 0 };
	struct gzip_writer pk;
	struct gzip_reader u;
	struct err e;
	int rc;

	CHECK_INT(gzip_writer_open(&pk, &packed, &e), 0);
	for (int i = 0; i < 300; i++) {
		buf_put(&pk.staged, zeros, sizeof zeros);
		gzip_writer_flush(&pk);
	}
	CHECK_INT(gzip_writer_end(&pk, &e), 0);
	gzip_writer_close(&pk);
	CHECK_INT(gzip_reader_open(&u, (unsigned char *)packed.data, packed.len, &e), 0);
	do {
		u.at = u.end;
		rc = gzip_reader_more(&u, &e);
	} while (rc > 0);
	CHECK_INT(rc, -EFBIG);
	CHECK(strstr(e.msg, "gzipped bytes hold more than"));
	CHECK(u.window.cap <= 256u << 20);
	gzip_reader_close(&u);
}

static void test_peek(void)
{
	CLEANUP(buf_fini) struct buf plain = { 0 }, packed = { 0 };
	unsigned char start[100];

	put_noise(&plain, 1 << 20);
	pack_bytes(plain.data, plain.len, &packed);
	CHECK_INT(gzip_reader_peek((unsigned char *)packed.data, packed.len, start, sizeof start),
		  100);
	CHECK(memcmp(start, plain.data, 100) == 0);
	CHECK_INT(gzip_reader_peek((unsigned char *)plain.data, 7, start, sizeof start), 7);
	CHECK_INT(gzip_reader_peek((unsigned char *)packed.data, 12, start, sizeof start), 0);
}

int main(void)
{
	TAP_CASE(test_all_sizes);
	TAP_CASE(test_members_are_one_input);
	TAP_CASE(test_broken_streams);
	TAP_CASE(test_damage_is_found);
	TAP_CASE(test_bomb);
	TAP_CASE(test_peek);
	return tap_done();
}
