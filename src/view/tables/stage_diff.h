/* SPDX-License-Identifier: MIT */
/*
 * stage_diff: what stages cost after against before, as rows.
 *
 * What is compared is the wall time of a stage in one record, on average, so that sets of
 * different sizes compare. Whether a change is chance is judged by how much the records differ
 * among themselves: z = (after - before) / sqrt(variance / records of both sides), for sides of at
 * least STAGE_DIFF_RECORDS records; from COMPARE_Z on it is called significant.
 */
#ifndef VIEW_TABLES_STAGE_DIFF_H
#define VIEW_TABLES_STAGE_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/stages.h"
#include "view/emit.h"
#include "view/tables/stage_table.h"

#define STAGE_DIFF_RECORDS 5

struct stage_diff_opts {
	const char *before, *after;    /* as the user named them */
	struct stage_inputs inputs[2]; /* of both */
	const char *group;             /* what --by names; NULL: all in one */
	bool is_by_name;               /* else the largest change first */
	size_t limit;                  /* rows; 0: all */
};

/* Puts a head and rows into an emitter that has begun. */
int stage_diff(struct emit *out, const struct stages *before, const struct stages *after,
	       const struct stage_diff_opts *o, struct err *e) MUST_CHECK;

#endif
