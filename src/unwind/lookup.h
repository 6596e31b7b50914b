/* SPDX-License-Identifier: MIT */
/*
 * lookup: the unwinding rules of a file one address at a time, by its sorted .eh_frame_hdr.
 *
 * Opening takes microseconds, where a table of all rules (unwind/table.h) takes milliseconds for
 * each MiB of .eh_frame. Finding takes about a microsecond. The file's pages are mapped, so this is
 * for code that the process itself has mapped: who shortens the file ends the process anyway.
 * Finding changes the lookup: one caller at a time. Uses no malloc.
 *
 * Source: LSB 5.0, 10.6 (.eh_frame_hdr).
 */
#ifndef UNWIND_LOOKUP_H
#define UNWIND_LOOKUP_H

#include <stdint.h>

#include "base/elf_image.h"
#include "base/macros.h"
#include "unwind/rule.h"

struct unwind_lookup; /* opaque */

/* fd: image's file; it may be closed afterwards, as image may. -ENOENT: the file has no sorted
 * header of the usual encoding, or no descriptions. -ENOMEM, -errno of mapping it. */
int unwind_lookup_new(const struct elf_image *image, int fd, struct unwind_lookup **ret) MUST_CHECK;
void unwind_lookup_free(struct unwind_lookup *l); /* NULL is allowed */

/* vaddr: as the file was linked. Never NULL: of what nothing describes, the rule is
 * UNWIND_CFA_NONE. Lives as long as the lookup. */
const struct unwind_rule *unwind_lookup_find(struct unwind_lookup *l, uint64_t vaddr);

#endif
