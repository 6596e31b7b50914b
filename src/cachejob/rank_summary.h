/* SPDX-License-Identifier: MIT */
/*
 * rank_summary: the numbers of a rank from the tables of its summary, as the rows that its CSV
 * files have.
 *
 * Source: cachefs/profile/profile_summary.c, and Copper's profiling_summary.md.
 */
#ifndef CACHEJOB_RANK_SUMMARY_H
#define CACHEJOB_RANK_SUMMARY_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "cachejob/rank_file.h"

/*
 * kind: RANK_METRICS, RANK_OPERATIONS or RANK_LATENCY. text: [0..len) followed by a NUL; it is
 * overwritten, and rows borrow from it. Appends struct rank_row to ret; none, where the summary has
 * no such table: that of a rank that runs, or was killed, is empty. -EINVAL: "line N: reason";
 * -ENOMEM.
 */
int rank_summary_parse(enum rank_file kind, char *text, size_t len, struct rows *ret,
		       struct err *e) MUST_CHECK;

#endif
