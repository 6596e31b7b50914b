/* SPDX-License-Identifier: MIT */
/* annotate: the values of a function line by line, with the instructions of each line beneath.
 *
 * Hot is what has at least half a percent of the function's total. */
#ifndef VIEW_ANNOTATE_H
#define VIEW_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/line_values.h"
#include "view/emit.h"
#include "view/script_lines.h"

struct annotation {
	const struct profile *profile;
	size_t type;                     /* index of the sample type */
	int64_t whole;                   /* of the profile: what percentages are of */
	const struct line_values *costs; /* of the function */
	uint32_t file;                   /* string id of the profile; 0: no source file is known */
	const char *const *source;       /* [source_count]: lines of the file, from line 1 */
	size_t source_count;             /* 0: the source is not there */
	int64_t start_line;              /* where the function is declared, 0: unknown */
	struct code_line *insns;         /* [insn_count]; put in order here */
	size_t insn_count;
	bool is_short; /* only hot lines and instructions, and those beside them */

	/* Of a script: columns native and copy, and memory; NULL: none. */
	const struct script_lines *parts, *memory;
	const char *memory_unit;
};

/* Rows, and how many are left out; the head is the caller's. 0 or -ENOMEM. */
int annotate_put(struct emit *out, struct annotation *a, struct err *e) MUST_CHECK;

#endif
