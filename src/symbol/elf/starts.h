/* SPDX-License-Identifier: MIT */
/*
 * starts: the function starts of a file without symbols, from its unwind tables.
 *
 * .eh_frame_hdr holds the start of each function, sorted; the entry of .eh_frame that it points to
 * has the length. Static programs may have .eh_frame alone: then it is sorted here.
 *
 * Source: Linux Standard Base Core, "Exception Frames" (.eh_frame_hdr, pointer encodings).
 */
#ifndef SYMBOL_ELF_STARTS_H
#define SYMBOL_ELF_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/elf_image.h"
#include "base/macros.h"

/* The binary search table of a file. All zero: there is none. */
struct starts {
	const struct elf_image *image;
	const unsigned char *rows; /* [count] of two int32_t, relative to base */
	size_t count;
	uint64_t base;      /* address of .eh_frame_hdr */
	struct buf extents; /* [] of struct extent, by start: of a file without that table */
};

int starts_open(struct starts *s, const struct elf_image *image) MUST_CHECK; /* 0 or -ENOMEM */
void starts_fini(struct starts *s);

/* The function that holds address: [*ret_start..*ret_end). false: none is known. */
bool starts_find(const struct starts *s, uint64_t address, uint64_t *ret_start, uint64_t *ret_end);

#endif
