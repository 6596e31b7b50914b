/* SPDX-License-Identifier: MIT */
/*
 * columns: reads a table of a profile of Firefox into rows of indices.
 *
 * A processed profile has an array for each column, {"frame": [0, 1], "prefix": [null, 0]}; a gecko
 * profile has rows, {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], [0, 1]]}.
 */
#ifndef FORMAT_FIREFOX_COLUMNS_H
#define FORMAT_FIREFOX_COLUMNS_H

#include <stdint.h>

#include "base/err.h"
#include "base/json_read.h"
#include "base/macros.h"
#include "base/rows.h"

#define COLUMNS_MAX 5
#define COLUMNS_NONE UINT32_MAX /* a cell that is null, negative or no number */

/* A row of a table: the cells in the order of the names. */
struct columns_row {
	uint32_t cells[COLUMNS_MAX];
};

/* at: a table, from its brace on. names: [count]. Adds struct columns_row to ret, which is empty.
 * What is wrong with the JSON is left to those who read all of it. -ENOMEM. */
int columns_read(struct json at, const char *const *names, size_t count, struct rows *ret,
		 struct err *e) MUST_CHECK;

/* The row of this index, or one of nothing. */
struct columns_row columns_get(const struct rows *rows, uint32_t index);

#endif
