/* SPDX-License-Identifier: MIT */
/*
 * page: writes a profile, or two that are compared, as one self-contained HTML page.
 *
 * The page needs no network and no other file. Its data is one block (page_block.h) with all sample
 * types, stacks and labels; the script of data/view shows it as flame graph, tables and heat map. A
 * content security policy allows this script and style alone, and names are text everywhere.
 * Without script the page has a summary and the functions with the largest values.
 */
#ifndef VIEW_PAGE_PAGE_H
#define VIEW_PAGE_PAGE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/profile.h"
#include "view/page/page_opts.h"

struct page_stats {
	size_t functions, nodes, entries; /* entries: distinct stacks with distinct labels */
};

/* Appends the HTML. */
int page_write(const struct profile *p, const struct page_opts *o, struct buf *out,
	       struct page_stats *ret_stats, struct err *e) MUST_CHECK;

#endif
