/* SPDX-License-Identifier: MIT */
/*
 * folded: one stack a line, root first, frames joined by ';', then a blank and its value.
 *
 *	main;read_input;parse 12
 *
 * Values are whole or decimal; "samples" of unit "count", or "thousandths" or "millionths" of
 * one when some value has decimals. When every line ends in two values (difffolded.pl), they
 * are the types "before" and "after". Frames keep what stands in them: blanks, and the marks
 * _[k], _[j], _[i], _[w]. An empty frame is "[unknown]". Empty lines are skipped, and lines
 * that begin with '#' and have no value; other lines without a value are, too, but with a warning.
 *
 * What is written is the default sample type; a label "comm" becomes the first frame, inlined
 * functions are frames, code without a name is "[file name]" or "[unknown]". Lines are unique
 * and in the order of their bytes.
 *
 * Source: stackcollapse-*.pl, difffolded.pl and flamegraph.pl of
 * github.com/brendangregg/FlameGraph, by what they read and write.
 */
#ifndef FORMAT_FOLDED_H
#define FORMAT_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_folded;

bool folded_detect(const unsigned char *data, size_t len);

/* -EINVAL: "line N: reason". */
int folded_read(struct profile *p, const unsigned char *data, size_t len, struct err *e) MUST_CHECK;

/* -EINVAL when there is no sample type. */
int folded_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

/* A number at the end of a line. */
struct folded_number {
	bool is_negative;
	bool is_huge;      /* whole leaves int64_t */
	int64_t whole;     /* not above 0 when negative */
	uint32_t micro;    /* millionths behind the point; further digits are dropped */
	uint32_t decimals; /* digits behind the point, without zeros at the end; at most 6 */
};

/* Cuts a number, and the blanks before it, off the end of the text; there must be blanks.
 * false: it ends in something else, nothing is changed. */
bool folded_cut_number(const char *text, size_t *len, struct folded_number *ret);

#endif
