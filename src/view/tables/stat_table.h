/* SPDX-License-Identifier: MIT */
/*
 * stat_table: what a command used, as rows of metrics, and its processes.
 *
 * Of several runs or commands their elapsed times come first, compared. Tables and CSV are the
 * metrics and then, each after an empty line, the programs and the processes; JSON is one object
 * with all. Short tables have what matters of a metric that is not 0,
 * and the programs that used the most CPU time, or the processes when each has a program of its
 * own.
 */
#ifndef VIEW_TABLES_STAT_TABLE_H
#define VIEW_TABLES_STAT_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/stat.h"
#include "view/emit.h"

/* all: [count] of the command, and of the others that are compared with it, which ran as often. May
 * bring processes into another order. */
int stat_table(const struct emit_opts *o, const struct stat_series *all, size_t count,
	       struct stat_process *processes, size_t process_count, struct buf *to,
	       struct err *e) MUST_CHECK;

#endif
