/* SPDX-License-Identifier: MIT */
/* stage_inputs: from files, folders and patterns on a command line to reduced stage reports. */
#ifndef SOURCE_STAGE_INPUTS_H
#define SOURCE_STAGE_INPUTS_H

#include <stdbool.h>

#include "base/err.h"
#include "model/stages.h"

struct stage_input_opts {
	const char *by;     /* members of records to group by, see stage_record.h; NULL: none */
	bool is_strict;     /* a damaged line is a failure */
	const char *folder; /* left out of the names of files in it; NULL: none */
	/* Called for each report, besides reducing it; NULL: nothing. 0 or -ENOMEM. */
	int (*see)(void *context, const struct stage_record *r);
	void *context;
	/* How far a long input is: file from 1, its part in percent, -1: unknown. file 0: nothing
	 * is to be shown any more, before other messages. NULL: none is shown. */
	void (*progress)(uint64_t file, double percent);
};

/*
 * paths: [count] files, "-", folders (all .jsonl, .ndjson and .json below them, also with .gz or
 * .zst behind), and patterns as of glob(7) that the shell left alone. Damaged lines are logged by
 * LOG_WARN, the first ones each, and passed over. *ret is the caller's. No report at all is
 * -ENODATA.
 */
int stage_inputs_read(char *const *paths, size_t count, const struct stage_input_opts *o,
		      struct stages **ret, struct stage_inputs *ret_inputs,
		      struct err *e) MUST_CHECK;

#endif
