/* SPDX-License-Identifier: MIT */
/*
 * gzip_reader: reads an input that may be gzipped, forward through a window, more than once.
 *
 * The window [at..end) holds decompressed bytes that are not consumed yet. Plain input is
 * available at once, without a copy. A gzip stream may have several members, which form one input.
 * Small inputs stay in memory for the next pass; large ones are decompressed again, so the window
 * bounds the memory.
 *
 * Limits: 4 GiB decompressed, and 128 times the input (but always at least 256 MiB), so that a
 * small file cannot fill the machine.
 *
 * Source: RFC 1952.
 */
#ifndef FORMAT_GZIP_READER_H
#define FORMAT_GZIP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

struct gzip_reader {
	const unsigned char *at;  /* next byte of the window; the caller moves it */
	const unsigned char *end; /* one past the last decompressed byte */

	const unsigned char *data; /* [0..len): the input; borrowed */
	size_t len;
	struct buf window; /* of a gzip stream: unpacked bytes from window_start on */
	uint64_t window_start;
	z_stream zlib;
	bool is_gzip;
	bool is_ended;   /* nothing is left to decompress */
	bool is_sliding; /* consumed bytes are dropped; else all are kept */
};

bool gzip_reader_detect(const unsigned char *data, size_t len);

/* data: borrowed until gzip_reader_close. Fails for lack of memory only. */
int gzip_reader_open(struct gzip_reader *u, const unsigned char *data, size_t len,
		     struct err *e) MUST_CHECK;
void gzip_reader_close(struct gzip_reader *u); /* all zero is allowed */

/* More bytes behind end; at and end move. 1: there are some, 0: there was nothing left.
 * -EINVAL: "byte N: gzip stream ends early", N in the input; -EFBIG: over the limit; -ENOMEM. */
int gzip_reader_more(struct gzip_reader *u, struct err *e) MUST_CHECK;

/* Back to the first byte. -ENOMEM when zlib fails. */
int gzip_reader_rewind(struct gzip_reader *u, struct err *e) MUST_CHECK;

/* Decompressed bytes before at. */
uint64_t gzip_reader_position(const struct gzip_reader *u);

/* The first bytes of an input, gzipped or not, for detection: at most cap, fewer when the
 * input is short or broken. */
size_t gzip_reader_peek(const unsigned char *data, size_t len, unsigned char *ret, size_t cap);

#endif
