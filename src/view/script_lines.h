/* SPDX-License-Identifier: MIT */
/*
 * script_lines: the values of a script's lines (Python's) by what ran: the script itself, native
 * code that the line called, and copying of memory, which is a part of the latter.
 *
 * A sample counts at one line: that of its innermost frame of a script.
 */
#ifndef VIEW_SCRIPT_LINES_H
#define VIEW_SCRIPT_LINES_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"

struct script_line {
	int64_t own;    /* of the script */
	int64_t native; /* of native code below it */
	int64_t copy;   /* of these, in memcpy(3), memmove(3) and others like them */
};

/* All zero is empty. */
struct script_lines {
	struct rows rows;   /* struct script_line */
	struct map by_line; /* index of a row */
};

/* file: string id of the script; 0 and one that is no script have no lines. */
int script_lines_collect(struct script_lines *ret, const struct profile *p, size_t type,
			 uint32_t file, struct err *e) MUST_CHECK;
void script_lines_fini(struct script_lines *l);

/* All zero for a line without values. */
struct script_line script_lines_find(const struct script_lines *l, int64_t line);

#endif
