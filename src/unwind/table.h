/* SPDX-License-Identifier: MIT */
/*
 * table: the unwinding rules of all functions of a file, built once from its call frame
 * information.
 *
 * Rows are sorted by address; each holds up to the next. A row is 6 bytes: an offset from the
 * first executable address and the number of a rule. Rules are few, because most functions push
 * the same registers in the same order. Gaps that no function describes have rows of their own, so
 * every address has a rule.
 *
 * A table is read-only once built and needs neither the file nor malloc. It may be used in a
 * signal handler, and shared between processes that run the same file (same build id).
 *
 * Source: DWARF 5, section 6.4; LSB 5.0, 10.6 (.eh_frame, .eh_frame_hdr); x86-64 psABI 3.7; i386
 * psABI; AArch64 DWARF ABI (AADWARF64) 4.
 */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_image.h"
#include "base/err.h"
#include "base/macros.h"
#include "unwind/rule.h"

struct unwind_table; /* opaque, read-only */

struct unwind_table_size {
	uint32_t functions; /* descriptions (FDEs) used */
	uint32_t rows, rules;
	uint32_t unknown; /* rows that cannot be followed */
	size_t bytes;     /* of memory in all */
};

/*
 * From .eh_frame, and where that lacks a function from .debug_frame (also one that zlib has
 * compressed), of the image or of its separate debug file (debug may be NULL); neither is
 * needed afterwards. A file without any
 * description is fine: one large gap. Broken descriptions are left out, and become gaps.
 * Memory and time are linear in the size of the sections, of which a compressed one has up to
 * 256 MiB.
 * Fails with -ENOTSUP for another machine than those above, for 32 bit but i386, -ENOEXEC without
 * an executable segment, -ENOMEM. Uses no malloc: memory comes from mmap.
 */
int unwind_table_new(const struct elf_image *image, const struct elf_image *debug,
		     struct unwind_table **ret, struct err *e) MUST_CHECK;
void unwind_table_free(struct unwind_table *t); /* NULL is allowed */

/* vaddr: as the file was linked. Never NULL: outside of all code it is a gap's. Lives as long
 * as the table. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t vaddr);

/* Does it describe any function? */
bool unwind_table_describes_any(const struct unwind_table *t);

struct unwind_table_size unwind_table_measure(const struct unwind_table *t);

/* One row, index < rows: from *ret_vaddr to the next row's. For tests. */
const struct unwind_rule *unwind_table_row(const struct unwind_table *t, uint32_t index,
					   uint64_t *ret_vaddr);

#endif
