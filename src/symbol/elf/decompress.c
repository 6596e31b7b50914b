/* SPDX-License-Identifier: MIT */
#include "symbol/elf/decompress.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h> /* more than twice as fast, for what is all in memory */
#endif

#include "base/buf.h"
#include "base/cursor.h"
#include "base/log.h"

#define XZ_MEMORY_MAX (UINT64_C(256) << 20) /* bytes; xz -9 needs 65 MiB to unpack */
#define XZ_STEP ((size_t)256 * 1024)
#define CHDR_ZSTD 2 /* ELFCOMPRESS_ZSTD, newer than this <elf.h> */

void section_bytes_fini(struct section_bytes *u)
{
	free(u->owned);
	*u = (struct section_bytes){ 0 };
}

/* Inflates one zlib stream that must fill out exactly. 0, -EINVAL, -ENOMEM. */
#ifdef HAVE_LIBDEFLATE
static int inflate_all(struct cursor in, unsigned char *out, size_t len)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	enum libdeflate_result rc;

	if (!d)
		return -ENOMEM;
	rc = libdeflate_zlib_decompress(d, in.at, cursor_left(&in), out, len, NULL);
	libdeflate_free_decompressor(d);
	return rc == LIBDEFLATE_SUCCESS ? 0 : -EINVAL;
}
#else
/* What zlib counts has 32 bits. */
static size_t step(size_t left)
{
	return left < UINT_MAX ? left : UINT_MAX;
}

static int inflate_all(struct cursor in, unsigned char *out, size_t len)
{
	z_stream z = { 0 };
	int rc = inflateInit(&z);

	if (rc != Z_OK)
		return rc == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	while (rc == Z_OK) {
		size_t take = step(cursor_left(&in)), room = step(len);

		z.next_in = in.at;
		z.avail_in = (uInt)take;
		z.next_out = out;
		z.avail_out = (uInt)room;
		rc = inflate(&z, Z_NO_FLUSH);
		if (rc == Z_OK && z.avail_in == take && z.avail_out == room)
			break; /* no progress: cut short */
		cursor_skip(&in, take - z.avail_in);
		out += room - z.avail_out;
		len -= room - z.avail_out;
	}
	inflateEnd(&z);
	return rc == Z_MEM_ERROR ? -ENOMEM : len ? -EINVAL : 0;
}
#endif

static int unzstd(struct cursor in, unsigned char *out, size_t len)
{
	size_t got = ZSTD_decompress(out, len, in.at, cursor_left(&in));

	if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	return ZSTD_isError(got) || got != len ? -EINVAL : 0;
}

/* What packed bytes may grow to. */
static uint64_t limit_of(uint64_t packed)
{
	if (packed > DECOMPRESS_MAX / DECOMPRESS_MAX_RATIO)
		return DECOMPRESS_MAX;
	packed *= DECOMPRESS_MAX_RATIO;
	return packed > DECOMPRESS_SMALL ? packed : DECOMPRESS_SMALL;
}

static bool is_too_large(uint64_t packed, uint64_t len)
{
	uint64_t limit = limit_of(packed);

	if (len <= limit)
		return false;
	log_msg(LOG_WARN, "symbol",
		"a section of %" PRIu64 " compressed bytes is not read: it has more than %" PRIu64
		" bytes",
		packed, limit);
	return true;
}

/* The packed bytes in, which say that they are len bytes when unpacked. */
static int unpack_sized(uint32_t type, struct cursor in, uint64_t len, struct section_bytes *ret)
{
	unsigned char *out;
	int rc = -EINVAL;

	if (in.bad || len == 0 || is_too_large(cursor_left(&in), len))
		return 0;
	out = malloc(len);
	if (!out)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZLIB)
		rc = inflate_all(in, out, len);
	else if (type == CHDR_ZSTD)
		rc = unzstd(in, out, len);
	if (rc == 0)
		*ret = (struct section_bytes){ out, len, out };
	else
		free(out);
	return rc == -ENOMEM ? -ENOMEM : 0;
}

static int unpack_shf(const struct elf_image *image, struct cursor in, struct section_bytes *ret)
{
	uint32_t type = cursor_u32(&in);
	uint64_t len;

	if (image->is_64)
		cursor_skip(&in, 4); /* ch_reserved */
	len = image->is_64 ? cursor_u64(&in) : cursor_u32(&in);
	cursor_skip(&in, image->is_64 ? 8 : 4); /* ch_addralign */
	return unpack_sized(type, in, len, ret);
}

/* "ZLIB", the length as 8 bytes big-endian, a zlib stream. */
static int unpack_zdebug(struct cursor in, struct section_bytes *ret)
{
	const unsigned char *magic = cursor_bytes(&in, 4);
	uint64_t len = 0;

	if (!magic || memcmp(magic, "ZLIB", 4) != 0)
		return 0;
	for (int i = 0; i < 8; i++)
		len = len << 8 | cursor_u8(&in);
	return unpack_sized(ELFCOMPRESS_ZLIB, in, len, ret);
}

int decompress_section(const struct elf_image *image, const char *name, struct section_bytes *ret)
{
	struct elf_section s;
	const unsigned char *data;
	char zname[32];

	*ret = (struct section_bytes){ 0 };
	if (elf_find_section(image, name, &s)) {
		data = elf_section_bytes(image, &s);
		if (!data)
			return 0;
		if (s.flags & SHF_COMPRESSED)
			return unpack_shf(image, cursor_make(data, s.size), ret);
		*ret = (struct section_bytes){ data, s.size, NULL };
		return 0;
	}
	snprintf(zname, sizeof zname, ".z%s", name + 1);
	if (!elf_find_section(image, zname, &s))
		return 0;
	data = elf_section_bytes(image, &s);
	return data ? unpack_zdebug(cursor_make(data, s.size), ret) : 0;
}

/* All of the stream to out; LZMA_STREAM_END: it was whole. */
static lzma_ret run_xz(lzma_stream *z, struct buf *out, uint64_t limit)
{
	lzma_ret rc = LZMA_OK;

	while (rc == LZMA_OK && out->len <= limit) {
		uint8_t *room = buf_reserve(out, XZ_STEP);

		if (!room)
			return LZMA_MEM_ERROR;
		z->next_out = room;
		z->avail_out = XZ_STEP;
		rc = lzma_code(z, LZMA_FINISH);
		buf_grew(out, XZ_STEP - z->avail_out);
	}
	return rc;
}

int decompress_xz(const unsigned char *data, size_t len, struct section_bytes *ret)
{
	lzma_stream z = LZMA_STREAM_INIT;
	struct buf out = { 0 };
	lzma_ret rc;

	*ret = (struct section_bytes){ 0 };
	rc = lzma_stream_decoder(&z, XZ_MEMORY_MAX, 0);
	if (rc == LZMA_OK) {
		z.next_in = data;
		z.avail_in = len;
		rc = run_xz(&z, &out, limit_of(len));
		lzma_end(&z);
	}
	if (rc == LZMA_STREAM_END && !is_too_large(len, out.len)) {
		*ret = (struct section_bytes){ (unsigned char *)out.data, out.len, out.data };
		return 0;
	}
	if (rc == LZMA_OK)
		is_too_large(len, out.len);
	buf_fini(&out);
	return rc == LZMA_MEM_ERROR ? -ENOMEM : 0;
}
