/* SPDX-License-Identifier: MIT */
/* slurm_ask: what a command of Slurm's prints. */
#ifndef USAGE_SLURM_ASK_H
#define USAGE_SLURM_ASK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

/* argv ends with NULL. Appends its standard output. -EIO: it failed; the last line of its standard
 * error tells why. */
int slurm_ask(char *const *argv, struct buf *out, struct err *e) MUST_CHECK;

#endif
