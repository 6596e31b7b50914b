/* SPDX-License-Identifier: MIT */
#include "format/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/buf.h"
#include "format/gzip_reader.h"

#define READ_BYTES ((size_t)32 << 10)
#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
#define GZIP_ONLY (MAX_WBITS + 16) /* inflateInit2: no zlib header, no guessing */

enum packing { PACKING_UNKNOWN, PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct lines {
	const char *path; /* for messages; borrowed */
	int fd;
	uint64_t read_bytes, file_bytes;
	enum packing packing;
	z_stream zlib;
	bool has_zlib;
	ZSTD_DStream *zstd;
	struct buf packed;    /* read from the file */
	size_t packed_at;     /* of it, taken */
	bool is_file_over;    /* nothing is left to read */
	bool is_within;       /* of a member or frame */
	bool is_pending;      /* there may be more text without more input */
	struct buf window;    /* text */
	size_t at;            /* in window: start of the next line */
	size_t scanned;       /* in window: no line end between at and here */
	uint64_t number;      /* of the last line */
	bool is_passing_over; /* a line that is too long */
};

int lines_open(const char *path, struct lines **ret, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct lines *l = calloc(1, sizeof *l);
	struct stat st;

	if (!l)
		return err_nomem(e);
	l->path = is_stdin ? "standard input" : path;
	l->fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0 || fstat(l->fd, &st) < 0) {
		int rc = err_errno(e, "%s", l->path);

		lines_close(l);
		return rc;
	}
	if (S_ISDIR(st.st_mode)) {
		lines_close(l);
		return err_set(e, -EISDIR, "%s: is a directory", path);
	}
	l->file_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	*ret = l;
	return 0;
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	if (l->has_zlib)
		inflateEnd(&l->zlib);
	ZSTD_freeDStream(l->zstd);
	buf_fini(&l->packed);
	buf_fini(&l->window);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

uint64_t lines_position(const struct lines *l)
{
	return l->read_bytes;
}

uint64_t lines_size(const struct lines *l)
{
	return l->file_bytes;
}

/* Appends what the file has next; at its end nothing. */
static int read_some(struct lines *l, struct buf *to, struct err *e)
{
	void *room = buf_reserve(to, READ_BYTES);
	ssize_t n;

	if (!room)
		return err_nomem(e);
	do
		n = read(l->fd, room, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(e, "%s", l->path);
	buf_grew(to, (size_t)n);
	l->read_bytes += (uint64_t)n;
	l->is_file_over |= n == 0;
	return 0;
}

static int damaged(const struct lines *l, const char *kind, const char *reason, struct err *e)
{
	return err_set(e, -EINVAL, "%s: byte %llu: %s %s", l->path,
		       (unsigned long long)(l->read_bytes - (l->packed.len - l->packed_at)), kind,
		       reason);
}

/* One step of inflate into the window. */
static int inflate_some(struct lines *l, struct err *e)
{
	void *room = buf_reserve(&l->window, READ_BYTES);
	union {
		char *from;
		unsigned char *bytes;
	} in = { .from = l->packed.data + l->packed_at };
	int rc;

	if (!room)
		return err_nomem(e);
	l->zlib.next_in = in.bytes;
	l->zlib.avail_in = (uInt)(l->packed.len - l->packed_at);
	l->zlib.next_out = room;
	l->zlib.avail_out = (uInt)READ_BYTES;
	rc = inflate(&l->zlib, Z_NO_FLUSH);
	l->packed_at = l->packed.len - l->zlib.avail_in;
	l->is_within = rc != Z_STREAM_END;
	l->is_pending = l->is_within && l->zlib.avail_out == 0;
	buf_grew(&l->window, READ_BYTES - l->zlib.avail_out);
	if (rc == Z_STREAM_END)
		return inflateReset(&l->zlib) == Z_OK ? 0 : err_nomem(e);
	if (rc == Z_MEM_ERROR)
		return err_nomem(e);
	return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : damaged(l, "gzip stream", "is damaged", e);
}

static int unzstd_some(struct lines *l, struct err *e)
{
	void *room = buf_reserve(&l->window, READ_BYTES);
	ZSTD_inBuffer in = { l->packed.data, l->packed.len, l->packed_at };
	ZSTD_outBuffer out = { room, READ_BYTES, 0 };
	size_t rc;

	if (!room)
		return err_nomem(e);
	rc = ZSTD_decompressStream(l->zstd, &out, &in);
	l->packed_at = in.pos;
	if (ZSTD_isError(rc))
		return ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation
			       ? err_nomem(e)
			       : damaged(l, "zstd stream", "is damaged", e);
	l->is_within = rc != 0;
	l->is_pending = l->is_within && out.pos == READ_BYTES;
	buf_grew(&l->window, out.pos);
	return 0;
}

/* By the first bytes, of which there are enough or all. */
static int begin(struct lines *l, struct err *e)
{
	int rc = 0;

	while (rc == 0 && l->packed.len < 4 && !l->is_file_over)
		rc = read_some(l, &l->packed, e);
	if (rc < 0)
		return rc;
	if (gzip_reader_detect((const unsigned char *)l->packed.data, l->packed.len)) {
		l->packing = PACKING_GZIP;
		l->has_zlib = inflateInit2(&l->zlib, GZIP_ONLY) == Z_OK;
		return l->has_zlib ? 0 : err_nomem(e);
	}
	if (l->packed.len >= 4 && memcmp(l->packed.data, ZSTD_MAGIC, 4) == 0) {
		l->packing = PACKING_ZSTD;
		l->zstd = ZSTD_createDStream();
		return l->zstd ? 0 : err_nomem(e);
	}
	l->packing = PACKING_NONE;
	l->window = l->packed;
	l->packed = (struct buf){ 0 };
	return 0;
}

/* Makes the window longer, unless the file is over. */
static int fill(struct lines *l, struct err *e)
{
	const char *kind = l->packing == PACKING_GZIP ? "gzip stream" : "zstd stream";
	size_t before = l->window.len;
	int rc = 0;

	if (l->packing == PACKING_NONE)
		return read_some(l, &l->window, e);
	while (rc == 0 && l->window.len == before) {
		bool is_dry = l->packed_at == l->packed.len && !l->is_pending;

		if (is_dry) {
			buf_clear(&l->packed);
			l->packed_at = 0;
			if (!l->is_file_over)
				rc = read_some(l, &l->packed, e);
		}
		if (rc == 0 && is_dry && !l->packed.len)
			return l->is_within ? damaged(l, kind, "ends early", e) : 0;
		if (rc == 0)
			rc = l->packing == PACKING_GZIP ? inflate_some(l, e) : unzstd_some(l, e);
	}
	return rc;
}

/* Forgets what was taken, and of a line that is too long all. */
static void slide(struct lines *l)
{
	size_t left = l->window.len - l->at;

	if (left > LINES_MAX_BYTES) {
		l->is_passing_over = true;
		left = 0;
	}
	if (left && l->at)
		memmove(l->window.data, l->window.data + l->at, left);
	l->window.len = left;
	if (l->window.data)
		buf_grew(&l->window, 0); /* the NUL */
	l->scanned = left;
	l->at = 0;
}

static int take(struct lines *l, size_t end, struct line_text *ret)
{
	size_t len = end - l->at;
	const char *text = l->window.data + l->at;

	*ret = (struct line_text){ text, len, ++l->number, l->is_passing_over };
	if (l->is_passing_over)
		*ret = (struct line_text){ "", 0, l->number, true };
	l->is_passing_over = false;
	l->at = end < l->window.len ? end + 1 : end;
	l->scanned = l->at;
	return 1;
}

int lines_next(struct lines *l, struct line_text *ret, struct err *e)
{
	int rc = l->packing == PACKING_UNKNOWN ? begin(l, e) : 0;

	while (rc == 0) {
		size_t left = l->window.len - l->scanned, before;
		const char *end = left ? memchr(l->window.data + l->scanned, '\n', left) : NULL;

		if (end)
			return take(l, (size_t)(end - l->window.data), ret);
		slide(l);
		before = l->window.len;
		rc = fill(l, e);
		if (rc == 0 && l->window.len == before) {
			/* the file is over; it need not end with a line end */
			if (!before && !l->is_passing_over)
				return 0;
			if (!before)
				buf_put(&l->window, "", 0);
			return take(l, before, ret);
		}
	}
	return rc;
}
