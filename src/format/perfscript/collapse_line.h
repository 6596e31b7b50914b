/* SPDX-License-Identifier: MIT */
/*
 * collapse_line: what stackcollapse-perf.pl takes one line of perf script for, and what it makes of
 * it. Its rules are regular expressions; here are the same matches, without their backtracking.
 *
 * All texts are borrowed from the line.
 */
#ifndef FORMAT_PERFSCRIPT_COLLAPSE_LINE_H
#define FORMAT_PERFSCRIPT_COLLAPSE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* "comm 12/13 [001] 1950.096826:  1001001 cycles:ppp:" */
struct collapse_head {
	struct str comm;
	struct str pid, tid; /* pid: "?" when the line has one number, which is the tid's */
	struct str event;    /* ptr NULL: none at the end of the line */
	int64_t period;      /* 1 for none and for "0"; a larger one than INT64_MAX is that */
};

/* "  7fb8a2cd6b70 outer->inner+0x1a (/usr/lib/ld.so)" */
struct collapse_frame {
	struct str address, symbol, module; /* symbol: without its offset */
};

/* The text that is left to read. */
struct collapse_text {
	const char *at, *end;
	size_t number; /* of the last line, from 1; 0: none was taken */
};

struct collapse_style {
	bool is_java; /* the thread is: the L before a class is dropped */
	bool marks_kernel, marks_jit, has_addresses;
	struct collapse_text *sources; /* a line is taken for each function; NULL: there are none */
};

/* A line without its end. false: there is none. */
bool collapse_take_line(struct collapse_text *text, struct str *ret);

/* A line may be both; a head goes first. */
bool collapse_parse_head(struct str line, struct collapse_head *ret);
bool collapse_parse_frame(struct str line, struct collapse_frame *ret);

/* Appends each function of the frame, outermost first, with a ';' before each. */
void collapse_put_frame(const struct collapse_frame *frame, const struct collapse_style *style,
			struct buf *out);

#endif
