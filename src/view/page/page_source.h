/* SPDX-License-Identifier: MIT */
/* page_source: the lines and instructions of a function, with their values, for a page. */
#ifndef VIEW_PAGE_PAGE_SOURCE_H
#define VIEW_PAGE_PAGE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/line_values.h"
#include "model/profile.h"

/* Borrowed. */
struct page_source {
	const char *function, *module; /* names as frames have them */
	const struct line_values *values;
	uint32_t file;                 /* string id of the profile; 0: unknown */
	int64_t start_line;            /* where the function is declared, 0: unknown */
	const char *const *text;       /* [text_count]: lines of the file, from line 1 */
	size_t text_count;             /* 0: the file is not there */
	const struct code_line *insns; /* [insn_count] */
	size_t insn_count;
};

/*
 * Appends one element of the column PAGE_SOURCE, behind a comma if out is not empty: an object with
 * fn, module, file, self, total; lines: number, self, total, text in turn; insns: line, self,
 * address in hex, text in turn. Long functions have the lines around those with values.
 */
void page_source_put(struct buf *out, const struct profile *p, const struct page_source *s);

#endif
