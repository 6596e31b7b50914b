/* SPDX-License-Identifier: MIT */
#include "stage/gzip.h"

#define BLOCK_MAX ((size_t)65535)

static uint32_t crc32_of(const char *data, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= (unsigned char)data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static void put_le(struct text *out, uint32_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)(value >> (8 * i));

		text_put(out, &byte, 1);
	}
}

void gzip_store(struct text *out, const char *data, size_t len)
{
	static const unsigned char header[10] = { 0x1f, 0x8b, 8, [9] = 3 };
	size_t at = 0;

	text_put(out, header, sizeof header);
	do {
		size_t n = len - at < BLOCK_MAX ? len - at : BLOCK_MAX;

		put_le(out, at + n == len, 1);
		put_le(out, (uint32_t)n, 2);
		put_le(out, ~(uint32_t)n, 2);
		text_put(out, data + at, n);
		at += n;
	} while (at < len);
	put_le(out, crc32_of(data, len), 4);
	put_le(out, (uint32_t)len, 4);
}
