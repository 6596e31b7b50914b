/* SPDX-License-Identifier: MIT */
#include "format/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/macros.h"
#include "tap.h"

/* A file of these bytes; its name in path. */
static int make_file(const void *bytes, size_t len, char *path, size_t cap)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);

	CHECK(fd >= 0 && file_write_all(fd, bytes, len) == 0);
	snprintf(path, cap, "/proc/self/fd/%d", fd);
	return fd;
}

/* The lines, each behind its number. *ret_rc: of the last lines_next. */
static void read_all(const void *bytes, size_t len, struct buf *out, int *ret_rc, struct err *e)
{
	struct line_text line;
	struct lines *l;
	char path[32];
	int fd = make_file(bytes, len, path, sizeof path);

	if (!CHECK(lines_open(path, &l, e) == 0))
		return;
	while ((*ret_rc = lines_next(l, &line, e)) > 0) {
		CHECK(line.text[line.len] == '\0' || line.text[line.len] == '\n');
		buf_printf(out, "%d:%.*s%s;", (int)line.number, (int)line.len, line.text,
			   line.is_too_long ? "too long" : "");
	}
	lines_close(l);
	close(fd);
}

static void gzip(const char *text, size_t len, struct buf *out)
{
	z_stream z = { 0 };
	unsigned char *room = buf_reserve(out, compressBound(len) + 64);

	CHECK(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.avail_in = (uInt)len;
	z.next_out = room;
	z.avail_out = (uInt)(compressBound(len) + 64);
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	buf_grew(out, z.total_out);
	deflateEnd(&z);
}

static void zstd(const char *text, size_t len, struct buf *out)
{
	void *room = buf_reserve(out, ZSTD_compressBound(len));
	size_t packed = ZSTD_compress(room, ZSTD_compressBound(len), text, len, 3);

	CHECK(!ZSTD_isError(packed));
	buf_grew(out, packed);
}

static void test_plain(void)
{
	static const struct {
		const char *text, *lines;
	} rows[] = {
		{ "", "" },
		{ "\n", "1:;" },
		{ "a", "1:a;" },
		{ "a\nb", "1:a;2:b;" },
		{ "a\n\nb\n", "1:a;2:;3:b;" },
		{ "\x1f\x8b", "1:\x1f\x8b;" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(buf_fini) struct buf out = { 0 };
		struct err e;
		int rc = -1;

		read_all(rows[i].text, strlen(rows[i].text), &out, &rc, &e);
		CHECK_INT(rc, 0);
		CHECK_STR(out.data ? out.data : "", rows[i].lines);
	}
}

/* Members and frames one behind the other, cut at every byte: what came before is read. */
static void check_packed(void (*pack)(const char *, size_t, struct buf *))
{
	CLEANUP(buf_fini) struct buf packed = { 0 };
	size_t first;

	pack("one\ntw", 6, &packed);
	first = packed.len;
	pack("o\nthree\n", 8, &packed);
	for (size_t len = 5; len <= packed.len; len++) {
		CLEANUP(buf_fini) struct buf out = { 0 };
		struct err e;
		int rc = 0;

		read_all(packed.data, len, &out, &rc, &e);
		if (len == packed.len)
			CHECK_STR(out.data, "1:one;2:two;3:three;");
		CHECK_INT(rc, len == packed.len || len == first ? 0 : -EINVAL);
		if (rc < 0)
			CHECK(strstr(e.msg, " stream ") != NULL);
	}
}

static void test_gzip(void)
{
	check_packed(gzip);
}

static void test_zstd(void)
{
	check_packed(zstd);
}

/* Much more than a window, out of little input. */
static void check_big(void (*pack)(const char *, size_t, struct buf *), size_t line_len)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(buf_fini) struct buf packed = { 0 };
	struct line_text line;
	struct lines *l;
	struct err e;
	size_t lines = ((size_t)3 << 20) / line_len, seen = 0;
	char path[32], *room = buf_reserve(&text, lines * line_len);
	int fd, rc;

	memset(room, 'x', lines * line_len);
	for (size_t i = 1; i <= lines; i++)
		room[i * line_len - 1] = '\n';
	buf_grew(&text, lines * line_len);
	pack(text.data, text.len, &packed);
	fd = make_file(packed.data, packed.len, path, sizeof path);
	if (!CHECK(lines_open(path, &l, &e) == 0))
		return;
	while ((rc = lines_next(l, &line, &e)) > 0)
		seen += line.len == line_len - 1;
	CHECK_INT(rc, 0);
	CHECK_INT(seen, lines);
	CHECK_INT(lines_position(l), packed.len);
	lines_close(l);
	close(fd);
}

static void copy(const char *text, size_t len, struct buf *out)
{
	buf_put(out, text, len);
}

static void test_big(void)
{
	static const size_t lens[] = { 7, 1000, 1 << 20 };

	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		check_big(copy, lens[i]);
		check_big(gzip, lens[i]);
		check_big(zstd, lens[i]);
	}
}

static void test_too_long(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(buf_fini) struct buf out = { 0 };
	size_t len = LINES_MAX_BYTES + 1000000;
	char *room;
	struct err e;
	int rc = -1;

	buf_put_str(&text, "a\n");
	room = buf_reserve(&text, len);
	memset(room, 'x', len);
	buf_grew(&text, len);
	buf_put_str(&text, "\nb\n");
	read_all(text.data, text.len, &out, &rc, &e);
	CHECK_INT(rc, 0);
	CHECK_STR(out.data, "1:a;2:too long;3:b;");
}

static void test_open(void)
{
	struct lines *l;
	struct err e;

	CHECK_INT(lines_open("/nonexistent", &l, &e), -ENOENT);
	CHECK_INT(lines_open("/", &l, &e), -EISDIR);
	CHECK_STR(e.msg, "/: is a directory");
}

int main(void)
{
	TAP_CASE(test_plain);
	TAP_CASE(test_gzip);
	TAP_CASE(test_zstd);
	TAP_CASE(test_big);
	TAP_CASE(test_too_long);
	TAP_CASE(test_open);
	return tap_done();
}
