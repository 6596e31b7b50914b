/* SPDX-License-Identifier: MIT */
/*
 * dot: writes the call graph of a profile in the language of Graphviz.
 *
 * Boxes are the functions with the largest totals, colored by self; lines are calls, as wide as
 * their total; a dashed line is a call through functions that have no box. Only the default sample
 * type is written. Names are text: no escape of the language is left in them.
 *
 * Source: https://graphviz.org/doc/info/lang.html, https://graphviz.org/docs/attr-types/escString/
 */
#ifndef FORMAT_DOT_DOT_H
#define FORMAT_DOT_DOT_H

#include "format/format.h"

#define DOT_MOST_BOXES 80
#define DOT_LEAST_BOX 200   /* part of the whole, in the total of a box: 1/200 */
#define DOT_LEAST_CALL 1000 /* and of a line */
#define DOT_MOST_CALLS 200  /* lines: many more take dot minutes */

extern const struct format format_dot;

#endif
