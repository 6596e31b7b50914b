/* SPDX-License-Identifier: MIT */
/* stage_inputs: from files, folders and patterns on a command line to reduced stage reports. */
#ifndef CLI_STAGES_INPUTS_H
#define CLI_STAGES_INPUTS_H

#include <stdbool.h>

#include "base/err.h"
#include "model/stages.h"
#include "view/tables/stage_table.h"

struct stage_input_opts {
	const char *by;     /* member of records to group by; NULL: none */
	bool is_strict;     /* a damaged line is a failure */
	const char *folder; /* left out of the names of files in it; NULL: none */
	/* Called for each report, besides reducing it; NULL: nothing. 0 or -ENOMEM. */
	int (*see)(void *context, const struct stage_record *r);
	void *context;
};

/*
 * paths: [count] files, "-", folders (all .jsonl, .ndjson and .json below them, also with .gz or
 * .zst behind), and patterns as of glob(7) that the shell left alone. Damaged lines are told by
 * LOG_WARN, the first ones each, and passed over. *ret is the caller's. No report at all is
 * -ENODATA.
 */
int stage_inputs_read(char *const *paths, size_t count, const struct stage_input_opts *o,
		      struct stages **ret, struct stage_inputs *ret_inputs,
		      struct err *e) MUST_CHECK;

#endif
