/* SPDX-License-Identifier: MIT */
/*
 * rows: an array that grows at the end. All zero is a valid empty one.
 *
 * The caller knows the type: row_bytes is the same in every call. Growing moves the rows, so refer
 * to them by index.
 */
#ifndef BASE_ROWS_H
#define BASE_ROWS_H

#include <stddef.h>

#include "base/macros.h"

struct rows {
	void *data;        /* [count]; owned */
	size_t count, cap; /* rows */
};

void rows_fini(struct rows *r);

/* The new row behind the last, all zero. NULL: out of memory. */
void *rows_add(struct rows *r, size_t row_bytes) MUST_CHECK;

/* Room for cap rows in all, to be filled and counted by the caller. 0 or -ENOMEM. */
int rows_reserve(struct rows *r, size_t cap, size_t row_bytes) MUST_CHECK;

#endif
