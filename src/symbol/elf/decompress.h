/* SPDX-License-Identifier: MIT */
/*
 * decompress: the bytes of a section, decompressed if necessary.
 *
 * Hostile lengths are bounded: a section grows to at most DECOMPRESS_SMALL bytes or
 * DECOMPRESS_MAX_RATIO times its compressed size, and never beyond DECOMPRESS_MAX. A section that
 * would grow further is logged. It is treated as absent, like a broken section or one of an unknown
 * compression.
 *
 * Source: gABI on SHF_COMPRESSED (zlib and zstd); the older .zdebug_* of binutils; MiniDebugInfo
 * is xz.
 */
#ifndef SYMBOL_ELF_DECOMPRESS_H
#define SYMBOL_ELF_DECOMPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/elf_image.h"
#include "base/macros.h"

#define DECOMPRESS_SMALL ((uint64_t)32 << 20)
#define DECOMPRESS_MAX_RATIO 32 /* the debug data of a compiler packs 3 to 10 times */
#define DECOMPRESS_MAX ((uint64_t)1 << 30)

struct section_bytes {
	const unsigned char *data; /* [0..len); NULL: not there */
	size_t len;
	void *owned; /* data when it was decompressed; else data belongs to the image */
};

/* By name, ".debug_info" (also found as ".zdebug_info"). Absent or broken: empty and 0.
 * -ENOMEM. */
int decompress_section(const struct elf_image *image, const char *name,
		       struct section_bytes *ret) MUST_CHECK;

/* xz of unknown length. Broken: empty and 0. -ENOMEM. */
int decompress_xz(const unsigned char *data, size_t len, struct section_bytes *ret) MUST_CHECK;

void section_bytes_fini(struct section_bytes *u);

#endif
