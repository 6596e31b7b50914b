/* SPDX-License-Identifier: MIT */
/* page_columns: fills the columns of a page's block that hold frames, nodes and entries. */
#ifndef VIEW_PAGE_PAGE_COLUMNS_H
#define VIEW_PAGE_PAGE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/profile.h"
#include "view/page/page_block.h"
#include "view/page/page_tree.h"

#define PAGE_NAME_LIMIT 65536 /* bytes that are kept of a name */

/* What the values of each sample type are divided by: the greatest common divisor, at least 1. */
struct page_scales {
	uint64_t of[PROFILE_MAX_TYPES];
};

/* All columns but PAGE_META. ret_entries: how many were written. */
int page_columns_put(struct page_block *b, const struct profile *p, const struct page_tree *t,
		     struct page_scales *ret_scales, size_t *ret_entries, struct err *e) MUST_CHECK;

#endif
