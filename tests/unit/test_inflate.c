/* SPDX-License-Identifier: MIT */
#include "unwind/inflate.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/macros.h"
#include "tap.h"

#define TEXT "a walk in the park, a walk in the dark, a walk"

/* Streams of zlib 1.2.13, by level and strategy: stored, fixed codes, dynamic codes. */
static const struct stream {
	size_t in_len, out_len;
	unsigned char in[64];
} streams[] = {
	{ 57, sizeof TEXT - 1, "\x78\x01\x01\x2e\x00\xd1\xff" TEXT "\x6a\x5b\x0f\x69" },
	{ 34, sizeof TEXT - 1,
	  "\x78\x01\x4b\x54\x28\x4f\xcc\xc9\x56\xc8\xcc\x53\x28\xc9\x48\x55\x28\x48\x2c\xca\xd6\x51"
	  "\x48\x44\x11\x4b\x41\x12\x03\x00\x6a\x5b\x0f\x69" },
	{ 34, 400,
	  "\x78\xda\x63\xd0\x0c\x61\xd2\x0a\x61\xd4\x08\x64\xd1\x0a\x62\xd1\x0c\x60\xd4\x09\x62\xd2"
	  "\x09\x64\x18\x15\x1c\x28\x41\x00\x3f\x14\x41\x77" },
};

static void expected(const struct stream *s, unsigned char *out)
{
	for (unsigned i = 0; i < s->out_len; i++)
		out[i] = s->out_len == 400 ? (unsigned char)(i * i % 7 + i % 3 * 40)
					   : (unsigned char)TEXT[i];
}

static void test_streams(void)
{
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		const struct stream *s = &streams[i];
		unsigned char out[401], want[401];

		expected(s, want);
		if (CHECK_INT(inflate_zlib(s->in, s->in_len, out, s->out_len), 0))
			CHECK(memcmp(out, want, s->out_len) == 0);
		CHECK_INT(inflate_zlib(s->in, s->in_len, out, s->out_len - 1), -EINVAL);
		CHECK_INT(inflate_zlib(s->in, s->in_len, out, s->out_len + 1), -EINVAL);
	}
}

/* In copies of exactly their size, so that the sanitizer sees reads behind the end. */
static int inflate_part(const struct stream *s, size_t len, size_t at, unsigned char bits)
{
	unsigned char *in = malloc(len ? len : 1), *out = malloc(s->out_len);
	int rc;

	memcpy(in, s->in, len);
	if (at < len)
		in[at] ^= bits;
	rc = inflate_zlib(in, len, out, s->out_len);
	free(in);
	free(out);
	return rc;
}

static void test_broken(void)
{
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		const struct stream *s = &streams[i];

		/* the last 4 bytes are the checksum, which nobody asks for */
		for (size_t len = 0; len + 5 < s->in_len; len++)
			CHECK_INT(inflate_part(s, len, SIZE_MAX, 0), -EINVAL);
		for (size_t at = 0; at < s->in_len; at++)
			for (unsigned bit = 0; bit < 8; bit++)
				inflate_part(s, s->in_len, at, (unsigned char)(1 << bit));
	}
}

static void test_refused(void)
{
	unsigned char out[4];

	CHECK_INT(inflate_zlib("", 0, out, 0), -EINVAL);
	CHECK_INT(inflate_zlib("\x1f\x8b\x08\x00", 4, out, 4), -EINVAL); /* gzip */
	CHECK_INT(inflate_zlib("\x78\x20\x03\x00", 4, out, 0), -EINVAL); /* a dictionary */
	CHECK_INT(inflate_zlib("\x78\x01\x07", 3, out, 4), -EINVAL); /* a fourth kind of block */
	CHECK_INT(inflate_zlib("\x78\x01\x03\x00", 4, out, 0), 0);   /* nothing */
}

int main(void)
{
	TAP_CASE(test_streams);
	TAP_CASE(test_broken);
	TAP_CASE(test_refused);
	return tap_done();
}
