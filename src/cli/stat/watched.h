/* SPDX-License-Identifier: MIT */
/* stat_watched: auger stat -p and -a: what processes that run, or the machine, use from now on. */
#ifndef CLI_STAT_WATCHED_H
#define CLI_STAT_WATCHED_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/opt.h"
#include "view/emit.h"

struct watched_args {
	struct opt_list pids; /* of -p; none: the machine */
	double seconds;       /* 0: until they end, or a signal */
	struct emit_opts emit;
};

/* Appends the tables to out. */
int stat_watched(const struct watched_args *args, struct buf *out, struct err *e) MUST_CHECK;

#endif
