/* SPDX-License-Identifier: MIT */
#include "format/gzip_reader.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define GZIP_MAGIC "\x1f\x8b\x08"
#define GZIP_ONLY (MAX_WBITS + 16) /* inflateInit2: no zlib header, no guessing */
#define STEP_BYTES ((size_t)32 * 1024)
#define KEPT_BYTES ((size_t)32 << 20) /* more is unpacked again rather than kept */
#define MAX_UNPACKED ((uint64_t)4 << 30)
#define ALWAYS_ALLOWED ((uint64_t)256 << 20)
#define MAX_RATIO 128

bool gzip_reader_detect(const unsigned char *data, size_t len)
{
	return len >= 3 && memcmp(data, GZIP_MAGIC, 3) == 0;
}

/* zlib's next_in is not const, though it only reads. */
static void give_input(z_stream *zlib, const unsigned char *data, size_t len)
{
	union {
		const unsigned char *read;
		unsigned char *write;
	} in = { .read = data };

	zlib->next_in = in.write;
	zlib->avail_in = len < UINT_MAX ? (uInt)len : UINT_MAX;
}

static size_t taken_input(const struct gzip_reader *u)
{
	return (size_t)(u->zlib.next_in - u->data);
}

int gzip_reader_open(struct gzip_reader *u, const unsigned char *data, size_t len, struct err *e)
{
	*u = (struct gzip_reader){ .data = data, .len = len };
	u->is_gzip = gzip_reader_detect(data, len);
	if (!u->is_gzip) {
		u->at = data;
		u->end = len ? data + len : data;
		u->is_ended = true;
		return 0;
	}
	if (inflateInit2(&u->zlib, GZIP_ONLY) != Z_OK) {
		u->is_gzip = false; /* nothing to close */
		return err_nomem(e);
	}
	give_input(&u->zlib, data, len);
	return 0;
}

void gzip_reader_close(struct gzip_reader *u)
{
	if (u->is_gzip)
		inflateEnd(&u->zlib);
	buf_fini(&u->window);
	*u = (struct gzip_reader){ 0 };
}

static const unsigned char *window_data(const struct gzip_reader *u)
{
	return (const unsigned char *)u->window.data;
}

uint64_t gzip_reader_position(const struct gzip_reader *u)
{
	const unsigned char *start = u->is_gzip ? window_data(u) : u->data;

	return u->window_start + (start ? (uint64_t)(u->at - start) : 0);
}

static int stream_error(const struct gzip_reader *u, const char *reason, struct err *e)
{
	return err_set(e, -EINVAL, "byte %zu: gzip stream %s", taken_input(u), reason);
}

/* Behind a member: another one, or the end. */
static int end_member(struct gzip_reader *u, struct err *e)
{
	size_t taken = taken_input(u);

	if (taken == u->len) {
		u->is_ended = true;
		return 0;
	}
	if (!gzip_reader_detect(u->data + taken, u->len - taken))
		return stream_error(u, "has bytes behind its end", e);
	return inflateReset(&u->zlib) == Z_OK ? 0 : err_nomem(e);
}

static int check_limit(const struct gzip_reader *u, struct err *e)
{
	uint64_t unpacked = u->window_start + u->window.len;
	uint64_t limit = (uint64_t)u->len * MAX_RATIO;

	if (limit < ALWAYS_ALLOWED)
		limit = ALWAYS_ALLOWED;
	if (limit > MAX_UNPACKED)
		limit = MAX_UNPACKED;
	if (unpacked > limit)
		return err_set(e, -EFBIG, "%zu gzipped bytes hold more than %llu MiB", u->len,
			       (unsigned long long)(limit >> 20));
	return 0;
}

/* Forgets what the reader took. */
static void slide(struct gzip_reader *u, size_t taken)
{
	size_t left = u->window.len - taken;

	if (!taken)
		return;
	memmove(u->window.data, u->window.data + taken, left);
	u->window.len = left;
	u->window_start += taken;
}

/* One call of inflate into the window. */
static int inflate_step(struct gzip_reader *u, struct err *e)
{
	void *room = buf_reserve(&u->window, STEP_BYTES);
	size_t taken = taken_input(u);
	int rc;

	if (!room)
		return err_nomem(e);
	give_input(&u->zlib, u->data + taken, u->len - taken);
	u->zlib.next_out = room;
	u->zlib.avail_out = (uInt)STEP_BYTES;
	rc = inflate(&u->zlib, Z_NO_FLUSH);
	buf_grew(&u->window, STEP_BYTES - u->zlib.avail_out);
	switch (rc) {
	case Z_OK:
		return 0;
	case Z_STREAM_END:
		return end_member(u, e);
	case Z_BUF_ERROR:
		return stream_error(u, "ends early", e);
	case Z_MEM_ERROR:
		return err_nomem(e);
	default:
		return stream_error(u, "is damaged", e);
	}
}

int gzip_reader_more(struct gzip_reader *u, struct err *e)
{
	size_t taken, before;
	int rc = 0;

	if (u->is_ended)
		return 0;
	taken = u->window.data ? (size_t)(u->at - window_data(u)) : 0;
	if (u->window.len > KEPT_BYTES)
		u->is_sliding = true;
	if (u->is_sliding) {
		slide(u, taken);
		taken = 0;
	}
	before = u->window.len;
	while (rc == 0 && u->window.len == before && !u->is_ended)
		rc = inflate_step(u, e);
	if (rc == 0)
		rc = check_limit(u, e);
	if (u->window.data) {
		u->at = window_data(u) + taken;
		u->end = window_data(u) + u->window.len;
	}
	return rc < 0 ? rc : u->window.len > before;
}

int gzip_reader_rewind(struct gzip_reader *u, struct err *e)
{
	if (!u->is_gzip) {
		u->at = u->data;
		return 0;
	}
	if (!u->is_sliding) {
		u->at = window_data(u);
		return 0;
	}
	if (inflateReset(&u->zlib) != Z_OK)
		return err_nomem(e);
	give_input(&u->zlib, u->data, u->len);
	buf_clear(&u->window);
	u->window_start = 0;
	u->at = u->end = window_data(u);
	u->is_ended = false;
	return 0;
}

size_t gzip_reader_peek(const unsigned char *data, size_t len, unsigned char *ret, size_t cap)
{
	z_stream zlib = { 0 };

	if (!gzip_reader_detect(data, len)) {
		size_t n = len < cap ? len : cap;

		if (n)
			memcpy(ret, data, n);
		return n;
	}
	if (inflateInit2(&zlib, GZIP_ONLY) != Z_OK)
		return 0;
	give_input(&zlib, data, len);
	zlib.next_out = ret;
	zlib.avail_out = cap < UINT_MAX ? (uInt)cap : UINT_MAX;
	inflate(&zlib, Z_SYNC_FLUSH);
	inflateEnd(&zlib);
	return (size_t)(zlib.next_out - ret);
}
