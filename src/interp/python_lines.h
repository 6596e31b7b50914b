/* SPDX-License-Identifier: MIT */
/*
 * python_lines: the line of an instruction, from the table of its code object.
 *
 * Source: CPython 3.8-3.13, Objects/lnotab_notes.txt, Objects/locations.md (InternalDocs).
 */
#ifndef INTERP_PYTHON_LINES_H
#define INTERP_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * at: up to 3.10 f_lasti as it is in the frame; later bytes from the first instruction. Returns
 * first_line where the table has no entry for it. The table is not trusted.
 */
int64_t python_line(unsigned minor, const unsigned char *table, size_t len, int64_t first_line,
		    int64_t at);

#endif
