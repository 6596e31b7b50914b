/* SPDX-License-Identifier: MIT */
#include "format/gzip_writer.h"

#include <limits.h>

#define GZIP_ONLY (MAX_WBITS + 16)
#define MEMORY_LEVEL 8 /* zlib's default */
#define STAGED_BYTES ((size_t)64 * 1024)
#define STEP_BYTES ((size_t)32 * 1024)
#define OS_UNKNOWN 255 /* RFC 1952 */
#define LEVEL 1

int gzip_writer_open(struct gzip_writer *pk, struct buf *out, struct err *e)
{
	*pk = (struct gzip_writer){ .out = out, .header = { .os = OS_UNKNOWN } };
	if (deflateInit2(&pk->zlib, LEVEL, Z_DEFLATED, GZIP_ONLY, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_nomem(e);
	deflateSetHeader(&pk->zlib, &pk->header);
	return 0;
}

void gzip_writer_close(struct gzip_writer *pk)
{
	deflateEnd(&pk->zlib);
	buf_fini(&pk->staged);
}

/* Up to UINT_MAX staged bytes; the rest stays. */
static size_t give_input(struct gzip_writer *pk, size_t from)
{
	size_t left = pk->staged.len - from;

	pk->zlib.next_in = (unsigned char *)pk->staged.data + from;
	pk->zlib.avail_in = left < UINT_MAX ? (uInt)left : UINT_MAX;
	return pk->zlib.avail_in;
}

static int deflate_step(struct gzip_writer *pk, int flush)
{
	unsigned char *room = buf_reserve(pk->out, STEP_BYTES);
	int rc;

	if (!room)
		return Z_MEM_ERROR;
	pk->zlib.next_out = room;
	pk->zlib.avail_out = (uInt)STEP_BYTES;
	rc = deflate(&pk->zlib, flush);
	buf_grew(pk->out, STEP_BYTES - pk->zlib.avail_out);
	return rc;
}

static void pack_staged(struct gzip_writer *pk)
{
	size_t at = 0;

	while (at < pk->staged.len) {
		at += give_input(pk, at);
		while (pk->zlib.avail_in)
			if (deflate_step(pk, Z_NO_FLUSH) == Z_MEM_ERROR)
				return;
	}
	pk->staged.len = 0;
}

void gzip_writer_flush(struct gzip_writer *pk)
{
	if (pk->staged.len >= STAGED_BYTES)
		pack_staged(pk);
}

int gzip_writer_end(struct gzip_writer *pk, struct err *e)
{
	int rc;

	pack_staged(pk);
	do
		rc = deflate_step(pk, Z_FINISH);
	while (rc == Z_OK || rc == Z_BUF_ERROR);
	if (buf_error(&pk->staged) < 0 || buf_error(pk->out) < 0 || rc != Z_STREAM_END)
		return err_nomem(e);
	return 0;
}
