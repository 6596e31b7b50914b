/* SPDX-License-Identifier: MIT */
#include "format/perfdata/decompress.h"

#include <errno.h>
#include <string.h>

#include "perf/record.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define MIN_LIMIT (UINT64_C(4) << 30)
#define MAX_RATIO 256

void perfdata_decompress_init(struct perfdata_decompress *u, uint64_t in_len)
{
	*u = (struct perfdata_decompress){ .limit = MIN_LIMIT };
	if (in_len > MIN_LIMIT / MAX_RATIO && __builtin_mul_overflow(in_len, MAX_RATIO, &u->limit))
		u->limit = UINT64_MAX;
}

void perfdata_decompress_fini(struct perfdata_decompress *u)
{
	ZSTD_freeDStream(u->stream);
	perfdata_block_unref(u->block);
	*u = (struct perfdata_decompress){ 0 };
}

/* Room for one more record at least; the start of one that is there already comes along. */
static int make_room(struct perfdata_decompress *u)
{
	struct perfdata_block *block;

	if (u->block && u->block->cap - u->block->used >= RECORD_MAX_BYTES)
		return 0;
	block = perfdata_block_new(BLOCK_BYTES);
	if (!block)
		return -ENOMEM;
	if (u->block) {
		block->used = u->block->used - u->at;
		memcpy(block->bytes, u->block->bytes + u->at, block->used);
	}
	perfdata_block_unref(u->block);
	u->block = block;
	u->at = 0;
	return 0;
}

/* 1: there are more bytes. */
static int unpack_some(struct perfdata_decompress *u, struct cursor *in, struct err *e)
{
	ZSTD_inBuffer from = { in->at, cursor_left(in), 0 };
	ZSTD_outBuffer to;
	size_t rc;

	if (!cursor_left(in) && !u->is_full)
		return 0;
	if (!u->stream)
		u->stream = ZSTD_createDStream();
	if (!u->stream || make_room(u) < 0)
		return err_nomem(e);
	to = (ZSTD_outBuffer){ u->block->bytes + u->block->used, u->block->cap - u->block->used,
			       0 };
	rc = ZSTD_decompressStream(u->stream, &to, &from);
	if (ZSTD_isError(rc))
		return err_set(e, -EINVAL, "compressed records: %s", ZSTD_getErrorName(rc));
	if (to.pos > u->limit)
		return err_set(e, -EFBIG, "compressed records: more than %d times the file",
			       MAX_RATIO);
	u->limit -= to.pos;
	u->block->used += to.pos;
	u->is_full = to.pos == to.size;
	cursor_skip(in, from.pos);
	return to.pos || from.pos;
}

int perfdata_decompress_next(struct perfdata_decompress *u, struct cursor *in,
			     const unsigned char **ret, struct err *e)
{
	for (;;) {
		size_t left = u->block ? u->block->used - u->at : 0;
		const unsigned char *bytes = u->block ? u->block->bytes + u->at : NULL;
		size_t len = record_len(bytes, left);
		int rc;

		if (len) {
			*ret = bytes;
			u->at += len;
			return 1;
		}
		if (left >= RECORD_HEADER_BYTES && record_claim(bytes) < RECORD_HEADER_BYTES)
			return err_set(e, -EINVAL, "compressed records: one of %u bytes",
				       record_claim(bytes));
		rc = unpack_some(u, in, e);
		if (rc <= 0)
			return rc;
	}
}
