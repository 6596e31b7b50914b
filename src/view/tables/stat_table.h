/* SPDX-License-Identifier: MIT */
/*
 * stat_table: what a command used, as rows of metrics, and its processes.
 *
 * Tables and CSV are the metrics and then, each after an empty line, the programs and the
 * processes; JSON is one object with all. Tables have no programs where each has one process only,
 * and the processes that used the most CPU time, when there are many.
 */
#ifndef VIEW_TABLES_STAT_TABLE_H
#define VIEW_TABLES_STAT_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/stat.h"
#include "view/emit.h"

/* vs: another command to compare with, NULL: none. May bring processes into another order. */
int stat_table(const struct emit_opts *o, const struct stat_series *s, const struct stat_series *vs,
	       struct stat_process *processes, size_t count, struct buf *to,
	       struct err *e) MUST_CHECK;

#endif
