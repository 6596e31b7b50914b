/* SPDX-License-Identifier: MIT */
/*
 * lines: reads the lines of a text file of any size, plain, gzip or zstd, through one window.
 *
 * The first bytes, not the name, select the compression. Members and frames may follow one
 * another. Memory is that of the longest line, at most LINES_MAX_BYTES: longer lines are skipped.
 *
 * Source: RFC 1952, RFC 8878.
 */
#ifndef FORMAT_LINES_H
#define FORMAT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

#define LINES_MAX_BYTES ((size_t)64 << 20)

struct lines;

struct line_text {
	const char *text; /* [0..len), a NUL or LF behind; until the next lines_next; no line end */
	size_t len;
	uint64_t number;  /* from 1 */
	bool is_too_long; /* text is empty then */
};

/* path: "-" is standard input. *ret is the caller's. */
int lines_open(const char *path, struct lines **ret, struct err *e) MUST_CHECK;
void lines_close(struct lines *l); /* NULL is allowed */

/* 1: a line, 0: the end, -EINVAL: what is packed is damaged from here on, -errno of read. */
int lines_next(struct lines *l, struct line_text *ret, struct err *e) MUST_CHECK;

/* Bytes of the file that were read, and how many it has (0: not known). */
uint64_t lines_position(const struct lines *l);
uint64_t lines_size(const struct lines *l);

#endif
