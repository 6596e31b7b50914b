/* SPDX-License-Identifier: MIT */
#include "view/page/page_block.h"

#include <errno.h>
#include <limits.h>
#include <zlib.h>

#define LEVEL 6
#define MEMORY_LEVEL 9

static const char *const names[] = {
	"meta",  "prefix", "suffix",  "text",  "name",    "module",  "file",
	"flags", "line",   "up",      "edge",  "newedge", "entries", "set",
	"ttype", "tcount", "tbucket", "tused", "tentry",  "tvalue",  "source",
};

void page_block_fini(struct page_block *b)
{
	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		buf_fini(&b->columns[i]);
}

static void put_head(const struct page_block *b, struct buf *out)
{
	CLEANUP(buf_fini) struct buf json = { 0 };

	for (size_t i = 0; i < PAGE_COLUMNS; i++) {
		if (!b->columns[i].len)
			continue;
		buf_put_str(&json, json.len ? "," : "{");
		if (i < PAGE_VALUES)
			buf_printf(&json, "\"%s\":%zu", names[i], b->columns[i].len);
		else
			buf_printf(&json, "\"v%zu\":%zu", i - PAGE_VALUES, b->columns[i].len);
	}
	buf_put_str(&json, json.len ? "}" : "{}");
	out->bad |= json.bad;
	if (json.bad)
		return;
	buf_put_u32(out, (uint32_t)json.len);
	buf_put(out, json.data, json.len);
}

/* Up to UINT_MAX bytes at once. */
static int deflate_all(z_stream *z, const struct buf *in, struct buf *out)
{
	size_t at = 0;
	int rc = Z_OK;

	while (rc == Z_OK) {
		size_t left = in->len - at, step = left < UINT_MAX ? left : UINT_MAX;
		size_t size = 65536;
		unsigned char *room = buf_reserve(out, size);

		if (!room)
			return Z_MEM_ERROR;
		z->next_in = (unsigned char *)in->data + at;
		z->avail_in = (uInt)step;
		z->next_out = room;
		z->avail_out = (uInt)size;
		rc = deflate(z, step == left ? Z_FINISH : Z_NO_FLUSH);
		at += step - z->avail_in;
		buf_grew(out, size - z->avail_out);
	}
	return rc;
}

static int pack(const struct buf *in, struct buf *out)
{
	z_stream z = { 0 };
	int rc = deflateInit2(&z, LEVEL, Z_DEFLATED, -MAX_WBITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);

	if (rc != Z_OK)
		return -ENOMEM;
	rc = deflate_all(&z, in, out);
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -ENOMEM;
}

static void put_base64(const struct buf *in, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *bytes = (const unsigned char *)in->data;
	char *to = buf_reserve(out, (in->len + 2) / 3 * 4);

	if (!to)
		return;
	for (size_t i = 0; i < in->len; i += 3) {
		size_t left = in->len - i;
		unsigned group = (unsigned)bytes[i] << 16;

		group |= left > 1 ? (unsigned)bytes[i + 1] << 8 : 0;
		group |= left > 2 ? bytes[i + 2] : 0;
		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[group & 63] : '=';
	}
	buf_grew(out, (in->len + 2) / 3 * 4);
}

int page_block_put(const struct page_block *b, struct buf *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf raw = { 0 }, packed = { 0 };

	put_head(b, &raw);
	for (size_t i = 0; i < PAGE_COLUMNS; i++) {
		raw.bad |= b->columns[i].bad;
		if (b->columns[i].len)
			buf_put(&raw, b->columns[i].data, b->columns[i].len);
	}
	if (buf_error(&raw) < 0 || pack(&raw, &packed) < 0)
		return err_nomem(e);
	put_base64(&packed, out);
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}
