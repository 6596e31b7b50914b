/* SPDX-License-Identifier: MIT */
/*
 * collapsed: the lines that FlameGraph's stackcollapse programs print: a stack, a blank, a number.
 *
 * All zero is a valid empty one. Most of the programs add up equal stacks and sort them by their
 * bytes; some print a line for each that they read.
 *
 * Source: stackcollapse-*.pl of github.com/brendangregg/FlameGraph, by what they write.
 */
#ifndef FORMAT_COLLAPSED_H
#define FORMAT_COLLAPSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/str.h"
#include "base/strtab.h"

struct collapsed {
	bool keeps_order;      /* set before the first: lines as they come, not added up */
	bool is_saturated;     /* a sum left its range, and stays at its end */
	struct strtab *stacks; /* owned; NULL: none yet */
	struct rows sums;      /* int64_t: by string id of stacks */
	struct buf lines;      /* of keeps_order */
};

void collapsed_fini(struct collapsed *c);

/* 0 or -ENOMEM. A number as text is for keeps_order. */
int collapsed_add(struct collapsed *c, struct str stack, int64_t value) MUST_CHECK;
int collapsed_add_text(struct collapsed *c, struct str stack, const char *number) MUST_CHECK;
int collapsed_write(const struct collapsed *c, struct buf *out) MUST_CHECK;

#endif
