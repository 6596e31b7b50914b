/* SPDX-License-Identifier: MIT */
/*
 * csv: a row for each stack with its labels, for data frames and spreadsheets.
 *
 *	stack,leaf,module,file,line,label:pid,samples/count,cpu/nanoseconds
 *	main;read;parse,parse,app,src/app.c,12,4711,3,30000000
 *
 * The stack is root first, ';' between frames (one within a name becomes ':'); inlined functions
 *are frames, and code without a name is "[FILE]". The leaf is the function that ran, with the
 *program or library, the source file and the line of it; what is not known is empty. Then come a
 *column for each key of a label, and one for each sample type. Text is quoted where it must be;
 *what a spreadsheet would compute has a "'" in front, and invalid UTF-8 is \xNN.
 *
 * Source: RFC 4180; OWASP, CSV Injection.
 */
#ifndef FORMAT_CSV_H
#define FORMAT_CSV_H

#include "format/format.h"

#define CSV_MAX_BYTES ((size_t)4 << 30) /* a long name in a deep stack makes much of little */
#define CSV_MAX_KEYS 256                /* columns of labels */

extern const struct format format_csv;

#endif
