/* SPDX-License-Identifier: MIT */
/*
 * page_block: the data of a page: columns of numbers and text, packed and in base64.
 *
 *	u32 length of the JSON (little-endian), the JSON {"column": bytes, ...}, the columns
 *
 * as raw deflate (RFC 1951), in base64 (RFC 4648). Numbers are LEB128; a signed one is zigzag
 * coded. Readers skip columns that they do not know.
 *
 *	meta      JSON: title, files, sample types, labels (page_meta.h)
 *	prefix    of each string, sorted: bytes that it has in common with the one before
 *	suffix    of each string: bytes that follow these
 *	text      these bytes, UTF-8
 *	name, module, file   of each frame, in order of first use: strings; frame 0 is the root's
 *	flags     of each frame: enum frame_kind, and 8 when inlined
 *	line      of each frame: where the function begins, 0: unknown
 *	up        of each node in pre-order, without the root: levels up from the node before to the
 *	          parent of this one
 *	edge      of each node: which callee of the parent's frame its frame is, counted from 1 in
 *	          order of first use; 0: a new one, and newedge has its frame
 *	newedge   0: the next frame, which no node before has; else 1 + the frame
 *	entries   of each node, with the root: how many entries (page_tree.h) it has
 *	set       of each entry: the label set; absent where there is only one
 *	ttype, tcount   of each track, which has one sample type of one label set: the type, and how
 *	          many timed values (model/sample_times.h) it has; all columns are absent when
 *	          there are no times
 *	tused     entries that have timed values, the most used first
 *	tbucket, tentry, tvalue   of each timed value: its bucket less that of the one before in its
 *	          track; its entry, as an index of tused; its value, likewise less the one before,
 *	          signed, undivided
 *	source    JSON: a list of functions with their lines (page_source.h); absent when not asked
 *for v0, v1... of each entry: the value of this sample type, divided by the type's scale; signed
 */
#ifndef VIEW_PAGE_PAGE_BLOCK_H
#define VIEW_PAGE_PAGE_BLOCK_H

#include "base/buf.h"
#include "base/err.h"
#include "model/profile.h"

enum page_column {
	PAGE_META,
	PAGE_PREFIX,
	PAGE_SUFFIX,
	PAGE_TEXT,
	PAGE_NAME,
	PAGE_MODULE,
	PAGE_FILE,
	PAGE_FLAGS,
	PAGE_LINE,
	PAGE_UP,
	PAGE_EDGE,
	PAGE_NEWEDGE,
	PAGE_ENTRIES,
	PAGE_SET,
	PAGE_TIME_TYPE,
	PAGE_TIME_COUNT,
	PAGE_TIME_BUCKET,
	PAGE_TIME_USED,
	PAGE_TIME_ENTRY,
	PAGE_TIME_VALUE,
	PAGE_SOURCE,
	PAGE_VALUES, /* and the columns behind it: one a sample type */
	PAGE_COLUMNS = PAGE_VALUES + PROFILE_MAX_TYPES
};

#define PAGE_FLAG_INLINED 8

struct page_block {
	struct buf columns[PAGE_COLUMNS];
};

void page_block_fini(struct page_block *b);

/* Appends the block in base64; failure of its columns is found here. */
int page_block_put(const struct page_block *b, struct buf *out, struct err *e) MUST_CHECK;

#endif
