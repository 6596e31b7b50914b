/* SPDX-License-Identifier: MIT */
/*
 * stat_scale: auger stat --scale: a command alone and several times at once: metrics, profiles and
 * what they say.
 */
#ifndef CLI_STAT_SCALE_H
#define CLI_STAT_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "view/emit.h"

struct scale_args {
	const char *list;     /* "1,2,4" */
	const char *profiles; /* folder to write to; NULL: SCALE_FOLDER, or a free name like it */
	bool is_pinned;
	uint64_t rounds;
	struct emit_opts emit;
};

/* Appends the tables to out; *ret_status: of the copy that failed last, or 126, 127. */
int stat_scale(const struct scale_args *args, char *const *argv, struct buf *out, int *ret_status,
	       struct err *e) MUST_CHECK;

#endif
