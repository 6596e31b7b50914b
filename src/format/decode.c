/* SPDX-License-Identifier: MIT */
#include "format/decode.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#ifdef HAVE_BZIP2
#include <bzlib.h>
#endif

#include "base/buf.h"
#include "base/utf8.h"
#include "format/gzip_reader.h"
#include "format/pprof/pprof.h"

#define STEP_BYTES ((size_t)256 << 10)
#define MAX_UNPACKED ((uint64_t)4 << 30)
#define MAX_RATIO 128
#define ALWAYS_ALLOWED ((uint64_t)256 << 20)
#define XZ_MEMORY ((uint64_t)128 << 20) /* xz -9 takes 65 MiB */
#define ZSTD_WINDOW_LOG 27              /* of zstd without --long */
#define MAX_LAYERS 2                    /* x.txt.gz.xz */

struct packing {
	const char *name;
	/* Appends what data holds. 0, -EINVAL with e, -ENOMEM; -EFBIG: more than an input of whole
	 * bytes may hold. */
	int (*unpack)(const struct packing *p, const unsigned char *data, size_t len, size_t whole,
		      struct buf *out, struct err *e);
	bool (*detect)(const unsigned char *data, size_t len);
};

static int damaged(const struct packing *p, struct err *e)
{
	return err_set(e, -EINVAL, "%s: damaged", p->name);
}

static int cut(const struct packing *p, struct err *e)
{
	return err_set(e, -EINVAL, "%s: ends early", p->name);
}

static int check_limit(const struct packing *p, size_t whole, const struct buf *out, struct err *e)
{
	uint64_t limit = (uint64_t)whole * MAX_RATIO;

	if (limit < ALWAYS_ALLOWED)
		limit = ALWAYS_ALLOWED;
	if (limit > MAX_UNPACKED)
		limit = MAX_UNPACKED;
	if (out->len <= limit)
		return 0;
	return err_set(e, -EFBIG, "%s: %zu bytes hold more than %llu MiB", p->name, whole,
		       (unsigned long long)(limit >> 20));
}

static int unpack_gzip(const struct packing *p, const unsigned char *data, size_t len, size_t whole,
		       struct buf *out, struct err *e)
{
	CLEANUP(gzip_reader_close) struct gzip_reader reader = { 0 };
	int rc = gzip_reader_open(&reader, data, len, e);

	while (rc == 0) {
		rc = gzip_reader_more(&reader, e);
		if (rc <= 0)
			return rc;
		buf_put(out, reader.at, (size_t)(reader.end - reader.at));
		reader.at = reader.end;
		rc = buf_error(out) < 0 ? err_nomem(e) : check_limit(p, whole, out, e);
	}
	return rc;
}

static bool is_xz(const unsigned char *data, size_t len)
{
	return len > 6 && memcmp(data, "\xfd\x37zXZ", 6) == 0;
}

static int unpack_xz(const struct packing *p, const unsigned char *data, size_t len, size_t whole,
		     struct buf *out, struct err *e)
{
	CLEANUP(lzma_end) lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret rc = lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED);

	z.next_in = data;
	z.avail_in = len;
	while (rc == LZMA_OK) {
		uint8_t *room = buf_reserve(out, STEP_BYTES);

		if (!room)
			return err_nomem(e);
		z.next_out = room;
		z.avail_out = STEP_BYTES;
		rc = lzma_code(&z, LZMA_FINISH);
		buf_grew(out, STEP_BYTES - z.avail_out);
		if (check_limit(p, whole, out, e) < 0)
			return e->code;
	}
	if (rc == LZMA_STREAM_END)
		return 0;
	if (rc == LZMA_MEM_ERROR)
		return err_nomem(e);
	if (rc == LZMA_MEMLIMIT_ERROR)
		return err_set(e, -ENOMEM, "%s: takes more than %llu MiB of memory", p->name,
			       (unsigned long long)(XZ_MEMORY >> 20));
	return rc == LZMA_BUF_ERROR ? cut(p, e) : damaged(p, e);
}

static bool is_zstd(const unsigned char *data, size_t len)
{
	return len > 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0;
}

static void free_zstd(ZSTD_DStream **z)
{
	ZSTD_freeDStream(*z);
}

static int unpack_zstd(const struct packing *p, const unsigned char *data, size_t len, size_t whole,
		       struct buf *out, struct err *e)
{
	CLEANUP(free_zstd) ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = { data, len, 0 };
	bool is_full = true; /* there may be more without more input */
	size_t rc = 1;

	if (!z || ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
		return err_nomem(e);
	while (in.pos < in.size || (rc && is_full)) {
		ZSTD_outBuffer to = { buf_reserve(out, STEP_BYTES), STEP_BYTES, 0 };

		if (!to.dst)
			return err_nomem(e);
		rc = ZSTD_decompressStream(z, &to, &in);
		if (ZSTD_isError(rc))
			return damaged(p, e);
		buf_grew(out, to.pos);
		is_full = to.pos == to.size;
		if (check_limit(p, whole, out, e) < 0)
			return e->code;
	}
	return rc ? cut(p, e) : 0;
}

static bool is_bzip2(const unsigned char *data, size_t len)
{
	return len > 10 && memcmp(data, "BZh", 3) == 0 && data[3] >= '1' && data[3] <= '9' &&
	       memcmp(data + 4, "1AY&SY", 6) == 0;
}

#ifdef HAVE_BZIP2
static void end_bzip2(bz_stream *z)
{
	BZ2_bzDecompressEnd(z);
}

/* One stream; *at moves behind it. */
static int unpack_member(const struct packing *p, const unsigned char *data, size_t len,
			 size_t whole, size_t *at, struct buf *out, struct err *e)
{
	CLEANUP(end_bzip2) bz_stream z = { 0 };
	int rc = BZ2_bzDecompressInit(&z, 0, 0);
	union {
		const unsigned char *read;
		char *want; /* it is read only */
	} in = { .read = data + *at };
	size_t given = len - *at < UINT32_MAX ? len - *at : UINT32_MAX;

	if (rc != BZ_OK)
		return err_nomem(e);
	z.next_in = in.want;
	z.avail_in = (unsigned)given;
	while (rc == BZ_OK) {
		z.next_out = buf_reserve(out, STEP_BYTES);
		if (!z.next_out)
			return err_nomem(e);
		z.avail_out = STEP_BYTES;
		rc = BZ2_bzDecompress(&z);
		buf_grew(out, STEP_BYTES - z.avail_out);
		if (check_limit(p, whole, out, e) < 0)
			return e->code;
		if (rc == BZ_OK && z.avail_out && !z.avail_in)
			return cut(p, e);
	}
	*at += given - z.avail_in;
	return rc == BZ_STREAM_END ? 0 : rc == BZ_MEM_ERROR ? err_nomem(e) : damaged(p, e);
}

static int unpack_bzip2(const struct packing *p, const unsigned char *data, size_t len,
			size_t whole, struct buf *out, struct err *e)
{
	size_t at = 0;
	int rc = 0;

	while (at < len && rc == 0)
		rc = is_bzip2(data + at, len - at) || !at
			     ? unpack_member(p, data, len, whole, &at, out, e)
			     : damaged(p, e);
	return rc;
}
#else
static int unpack_bzip2(const struct packing *p, const unsigned char *data, size_t len,
			size_t whole, struct buf *out, struct err *e)
{
	(void)data;
	(void)len;
	(void)whole;
	(void)out;
	return err_set(e, -ENOTSUP, "%s: this auger was built without it", p->name);
}
#endif

static bool is_utf16(const unsigned char *data, size_t len)
{
	return len >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0);
}

static uint32_t get_unit(const unsigned char *at, bool is_big)
{
	return is_big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

/* An odd byte at the end is left out; half a surrogate pair becomes U+FFFD. */
static int decode_utf16(const struct packing *p, const unsigned char *data, size_t len,
			size_t whole, struct buf *out, struct err *e)
{
	bool is_big = data[0] == 0xfe;

	(void)p;
	(void)whole;
	for (size_t i = 2; i + 1 < len; i += 2) {
		uint32_t unit = get_unit(data + i, is_big), low;

		if ((unit & 0xfc00) == 0xd800 && i + 3 < len) {
			low = get_unit(data + i + 2, is_big);
			if ((low & 0xfc00) == 0xdc00) {
				unit = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
				i += 2;
			}
		}
		utf8_put(out, (int32_t)unit);
	}
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}

static bool is_marked_utf8(const unsigned char *data, size_t len)
{
	return len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;
}

static int drop_mark(const struct packing *p, const unsigned char *data, size_t len, size_t whole,
		     struct buf *out, struct err *e)
{
	(void)p;
	(void)whole;
	buf_put(out, data + 3, len - 3);
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}

static const struct packing packings[] = {
	{ "gzip", unpack_gzip, gzip_reader_detect },
	{ "xz", unpack_xz, is_xz },
	{ "zstd", unpack_zstd, is_zstd },
	{ "bzip2", unpack_bzip2, is_bzip2 },
	{ "UTF-16", decode_utf16, is_utf16 },
	{ "UTF-8", drop_mark, is_marked_utf8 },
};

static int decode_layer(const unsigned char *data, size_t len, size_t whole, struct buf *out,
			struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(packings); i++)
		if (packings[i].detect(data, len))
			return packings[i].unpack(&packings[i], data, len, whole, out, e);
	return 1;
}

int decode_bytes(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return decode_layer(data, len, len, out, e);
}

/* Does the format take these bytes as they are? */
static bool is_native(const struct file_input *in, const struct format *from)
{
	if (!gzip_reader_detect(in->data, in->len))
		return false;
	return from ? from == &format_pprof : pprof_detect(in->data, in->len);
}

int decode_input(struct file_input *in, const char *path, const struct format *from, struct err *e)
{
	size_t whole = in->len;

	for (size_t i = 0; i < MAX_LAYERS + 1 && !is_native(in, from); i++) {
		struct buf out = { 0 };
		int rc = decode_layer(in->data, in->len, whole, &out, e);

		if (rc < 0)
			err_wrap(e, "%s", path);
		if (rc == 0)
			rc = file_input_check(in, path, e);
		if (rc) {
			buf_fini(&out);
			return rc < 0 ? rc : 0;
		}
		file_input_fini(in);
		*in = (struct file_input){ .data = (unsigned char *)out.data, .len = out.len };
	}
	return 0;
}
