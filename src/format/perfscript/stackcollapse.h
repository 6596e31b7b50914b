/* SPDX-License-Identifier: MIT */
/*
 * stackcollapse: folds the text of perf script byte for byte as stackcollapse-perf.pl does.
 *
 * This works on lines, not on a profile: a profile drops what the original keeps (the number of
 * blanks in a symbol, a parenthesis in a path) and keeps what it drops (a sample at the end of the
 * text that no empty line follows, the arguments of a function).
 *
 * A sum that leaves int64_t stays at its end, which the report counts.
 *
 * Source: stackcollapse-perf.pl of github.com/brendangregg/FlameGraph, by what it writes.
 */
#ifndef FORMAT_PERFSCRIPT_STACKCOLLAPSE_H
#define FORMAT_PERFSCRIPT_STACKCOLLAPSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"

struct stackcollapse_opts {
	bool has_pid, has_tid;        /* in the name of a thread; the latter has both */
	bool marks_kernel, marks_jit; /* _[k], _[j] */
	bool has_addresses;           /* "[module <address>]" for a frame without a name */
	bool has_sources;             /* below each frame is its source line, to be shown */
	const char *event;            /* of the samples to count; NULL: the first one */
};

/* What was left out, as the original leaves it out. */
struct stackcollapse_report {
	size_t unknown_lines; /* neither a sample nor a frame */
	size_t first_unknown; /* number of the first of them, from 1 */
	size_t other_events;  /* samples of another event than the one shown */
	struct str event;     /* the one shown; borrowed from the text or the options */
	bool is_cut;          /* the last sample has no empty line behind it */
	bool is_saturated;    /* a sum left its range */
};

/* Appends the folded stacks to out, in the order of their bytes. 0 or -ENOMEM. */
int stackcollapse(const void *text, size_t len, const struct stackcollapse_opts *o,
		  struct stackcollapse_report *ret, struct buf *out, struct err *e) MUST_CHECK;

#endif
