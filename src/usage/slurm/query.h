/* SPDX-License-Identifier: MIT */
/* slurm_query: what a command of Slurm's prints. */
#ifndef USAGE_SLURM_QUERY_H
#define USAGE_SLURM_QUERY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* argv ends with NULL. Appends its standard output. -EIO: it failed; the last line of its standard
 * error has the reason. */
int slurm_query(char *const *argv, struct buf *out, struct err *e) MUST_CHECK;

#endif
