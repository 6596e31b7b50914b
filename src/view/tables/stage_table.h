/* SPDX-License-Identifier: MIT */
/*
 * stage_table: reduced stage reports as rows, one a stage (and group).
 *
 * The columns of CSV and JSON are always the same, in nanoseconds and bytes; a table leaves out
 * what nothing was measured of, and what is seldom needed.
 */
#ifndef VIEW_TABLES_STAGE_TABLE_H
#define VIEW_TABLES_STAGE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/stages.h"
#include "view/emit.h"

/* Values of --sort, in this order; ends with NULL. All but the name: the largest first. */
extern const char *const stage_orders[];
#define STAGE_ORDERS "wall|self|cpu|wait|calls|mean|max|p95|peak|rss|name"
enum stage_order {
	STAGE_BY_WALL,
	STAGE_BY_SELF,
	STAGE_BY_CPU,
	STAGE_BY_WAIT,
	STAGE_BY_CALLS,
	STAGE_BY_MEAN,
	STAGE_BY_MAX,
	STAGE_BY_P95,
	STAGE_BY_PEAK, /* of the heap, else of Python's */
	STAGE_BY_RSS,  /* what it grew by */
	STAGE_BY_NAME,
};

struct stage_table_opts {
	struct stage_inputs inputs;
	const char *group; /* what --by names; NULL: all in one */
	enum stage_order order;
	size_t limit; /* rows; 0: all */
};

/* Puts a head and rows into an emitter that has begun. */
int stage_table(struct emit *out, const struct stages *s, const struct stage_table_opts *o,
		struct err *e) MUST_CHECK;

#endif
