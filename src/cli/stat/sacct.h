/* SPDX-License-Identifier: MIT */
/*
 * stat_sacct: auger stat --sacct: prints Slurm's accounting of a job next to what auger stat
 * said of the command in it and of its control group, and why they differ.
 */
#ifndef CLI_STAT_SACCT_H
#define CLI_STAT_SACCT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "view/emit.h"

/* job: "123", "123.0", "123.batch", or a file ("-": standard input) that sacct -P printed. metrics:
 * a file of auger stat -f json; NULL: none. Appends the table to out. */
int stat_sacct(const char *job, const char *metrics, const struct emit_opts *emit, struct buf *out,
	       struct err *e) MUST_CHECK;

#endif
