/* SPDX-License-Identifier: MIT */
/* stat_times: the elapsed times of repeated or compared commands, as a table and as Markdown. */
#ifndef VIEW_TABLES_STAT_TIMES_H
#define VIEW_TABLES_STAT_TIMES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "model/stat.h"
#include "view/emit.h"

/* all: [count]; ratios are to the first. Lines under the table say what the runs show, and what
 * disturbed them. */
int stat_times_table(const struct emit_opts *o, const struct stat_series *all, size_t count,
		     struct buf *to, struct err *e) MUST_CHECK;

/* The columns of hyperfine's --export-markdown. */
int stat_times_markdown(const struct stat_series *all, size_t count, struct buf *to,
			struct err *e) MUST_CHECK;

#endif
