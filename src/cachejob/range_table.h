/* SPDX-License-Identifier: MIT */
/* range_table: ranges across ranks by name: one of a metric, one a column of an operation. */
#ifndef CACHEJOB_RANGE_TABLE_H
#define CACHEJOB_RANGE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "cachefs/profile/decimal.h"

struct range_table {
	struct strtab *names; /* ids are indices of the ranges */
	struct rows ranges;   /* struct range [values] for each name */
	size_t values;
	uint32_t *order; /* [count] of ids by name; NULL until range_table_sort */
};

int range_table_init(struct range_table *t, size_t values) MUST_CHECK; /* 0 or -ENOMEM */
void range_table_fini(struct range_table *t);                          /* all zero is allowed */

/* The ranges [values] of a name; all zero if it is new. NULL: out of memory. */
struct range *range_table_at(struct range_table *t, const char *name, size_t len);

/* range_fill() of all ranges. */
void range_table_fill(struct range_table *t, size_t ranks, uint32_t rank);

int range_table_sort(struct range_table *t)
	MUST_CHECK; /* call it after the last name; 0 or -ENOMEM */

size_t range_table_count(const struct range_table *t);
/* The ranges of the i-th name, in order of names. */
const struct range *range_table_get(const struct range_table *t, size_t i, const char **ret_name);
const struct range *range_table_find(const struct range_table *t, const char *name); /* or NULL */

#endif
