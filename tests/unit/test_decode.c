/* SPDX-License-Identifier: MIT */
#include "format/decode.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "tap.h"

#define TEXT "main;f 3\n"

struct bytes {
	const char *data;
	size_t len;
};
#define BYTES(text)                    \
	{                              \
		text, sizeof(text) - 1 \
	}

/* TEXT, packed. */
static const struct bytes packed[] = {
	BYTES("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x4d\xcc\xcc\xb3\x4e\x53\x30\xe6\x02\x00"
	      "\xe2\x5e\xfb\x9f\x09\x00\x00\x00"),
	BYTES("\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74"
	      "\x2f\xe5\xa3\x01\x00\x08\x6d\x61\x69\x6e\x3b\x66\x20\x33\x0a\x00\x00\x00\x00\xe2\x21"
	      "\xe7\xc7\x2d\x6b\xb0\xb4\x00\x01\x21\x09\x6c\x18\xc5\xd5\x1f\xb6\xf3\x7d\x01\x00\x00"
	      "\x00\x00\x04\x59\x5a"),
	BYTES("\x28\xb5\x2f\xfd\x20\x09\x49\x00\x00" TEXT),
	BYTES("\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xcb\xeb\xa4\x02\x00\x00\x03\xd9\x00\x00\x10"
	      "\x40\x00\x08\x08\x21\x23\x20\x00\x31\x06\x4c\x41\x00\xd3\x6a\x5a\xc0\xe6\xcf\x17\x72"
	      "\x45\x38\x50\x90\xcb\xeb\xa4\x02"),
};

static int decode(const void *data, size_t len, struct buf *out, struct err *e)
{
	*e = (struct err){ 0 };
	buf_clear(out);
	return decode_bytes(data, len, out, e);
}

/* bzip2 comes last, and may be missing. */
static size_t packed_count(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	const struct bytes *last = &packed[ARRAY_LEN(packed) - 1];
	struct err e;

	return ARRAY_LEN(packed) - (decode(last->data, last->len, &out, &e) == -ENOTSUP);
}

static void test_unpacks(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 }, twice = { 0 };
	struct err e;

	for (size_t i = 0; i < packed_count(); i++) {
		CHECK_INT(decode(packed[i].data, packed[i].len, &out, &e), 0);
		CHECK_STR(out.data, TEXT);
		buf_clear(&twice);
		buf_put(&twice, packed[i].data, packed[i].len);
		buf_put(&twice, packed[i].data, packed[i].len);
		CHECK_INT(decode(twice.data, twice.len, &out, &e), 0);
		CHECK_STR(out.data, TEXT TEXT);
	}
	CHECK_INT(decode(TEXT, strlen(TEXT), &out, &e), 1);
	CHECK_INT(decode("", 0, &out, &e), 1);
}

static void test_damage(void)
{
	CLEANUP(buf_fini) struct buf out = { 0 }, bad = { 0 };
	struct err e;

	for (size_t i = 0; i < packed_count(); i++) {
		for (size_t len = 11; len < packed[i].len; len++) {
			CHECK_INT(decode(packed[i].data, len, &out, &e), -EINVAL);
			CHECK(strstr(e.msg, "ends early"));
		}
		buf_clear(&bad);
		buf_put(&bad, packed[i].data, packed[i].len);
		buf_put_str(&bad, "behind the end");
		CHECK_INT(decode(bad.data, bad.len, &out, &e), -EINVAL);
	}
	CHECK_INT(decode("\x28\xb5\x2f\xfd\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff", 14, &out, &e),
		  -EINVAL);
	CHECK_STR(e.msg, "zstd: damaged");
}

static void test_text(void)
{
	static const struct {
		struct bytes in;
		const char *out;
	} rows[] = {
		{ BYTES("\xef\xbb\xbf" TEXT), TEXT },
		{ BYTES("\xff\xfe"
			"f\0 \0003\0\n\0"),
		  "f 3\n" },
		{ BYTES("\xfe\xff"
			"\0f\0 \0003\0\n"),
		  "f 3\n" },
		{ BYTES("\xff\xfe\xe9\0\x3d\xd8\x00\xde"), "\xc3\xa9\xf0\x9f\x98\x80" },
		{ BYTES("\xff\xfe\x3d\xd8"
			"a\0"),
		  "\xef\xbf\xbd"
		  "a" },
		{ BYTES("\xff\xfe"
			"a\0b"),
		  "a" }, /* half a character */
		{ BYTES("\xff\xfe\x3d\xd8"), "\xef\xbf\xbd" },
	};
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(decode(rows[i].in.data, rows[i].in.len, &out, &e), 0);
		CHECK_STR(out.data, rows[i].out);
	}
}

/* 4 KiB of zstd's blocks of one repeated byte hold more than the limit. */
static void test_bomb(void)
{
	CLEANUP(buf_fini) struct buf bomb = { 0 }, out = { 0 };
	struct err e;

	/* a frame with a window of 128 KiB, whose blocks are 128 KiB of 'a' each */
	buf_put(&bomb, "\x28\xb5\x2f\xfd\x00\x38", 6);
	for (size_t i = 0; i < 2200; i++)
		buf_put(&bomb,
			"\x02\x00\x10"
			"a",
			4);
	CHECK_INT(decode(bomb.data, bomb.len, &out, &e), -EFBIG);
	CHECK_STR(e.msg, "zstd: 8806 bytes hold more than 256 MiB");
}

/* What is packed twice may hold no more: 3 MiB of such blocks take a kilobyte in zstd again. */
static void test_bomb_in_layers(void)
{
	CLEANUP(buf_fini) struct buf bomb = { 0 };
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	struct buf packed_bomb = { 0 };
	struct err e = { 0 };
	void *room;

	buf_put(&bomb, "\x28\xb5\x2f\xfd\x00\x38", 6);
	for (size_t i = 0; i < (size_t)3 << 18; i++)
		buf_put(&bomb,
			"\x02\x00\x10"
			"a",
			4);
	room = buf_reserve(&packed_bomb, ZSTD_compressBound(bomb.len));
	if (!CHECK(room != NULL))
		return;
	buf_grew(&packed_bomb,
		 ZSTD_compress(room, ZSTD_compressBound(bomb.len), bomb.data, bomb.len, 1));
	in = (struct file_input){ .data = (unsigned char *)packed_bomb.data,
				  .len = packed_bomb.len };
	CHECK_INT(decode_input(&in, "x", NULL, &e), -EFBIG);
	CHECK(strstr(e.msg, "bytes hold more than 256 MiB"));
}

int main(void)
{
	TAP_CASE(test_unpacks);
	TAP_CASE(test_damage);
	TAP_CASE(test_text);
	TAP_CASE(test_bomb);
	TAP_CASE(test_bomb_in_layers);
	return tap_done();
}
