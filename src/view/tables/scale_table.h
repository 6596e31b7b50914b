/* SPDX-License-Identifier: MIT */
/*
 * scale_table: how a command behaves when several copies of it run at once: tables, and the story
 * that they tell, in words.
 *
 * CSV has the tables one after the other, with an empty line between them; JSON is one object with
 * a member for each.
 */
#ifndef VIEW_TABLES_SCALE_TABLE_H
#define VIEW_TABLES_SCALE_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/scale.h"
#include "view/emit.h"
#include "view/tables/growth.h"

struct scale_view {
	const struct scale *scale;
	/* From the first step to the last, of one copy; NULL: nothing was sampled. */
	const struct growth *cpu, *faults;
	const char *const *files; /* [file_count]: what was written */
	size_t file_count;
};

int scale_table(const struct emit_opts *o, const struct scale_view *v, struct buf *to,
		struct err *e) MUST_CHECK;

/* What is to be read from the metrics: a line each. */
void scale_summary(const struct scale_view *v, struct buf *to);

#endif
