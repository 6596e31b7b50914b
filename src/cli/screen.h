/* SPDX-License-Identifier: MIT */
/*
 * screen: standard output as people see it: its size, colors, a pager for long texts.
 *
 * Colours and the pager are for terminals only. Source of the rule on NO_COLOR: no-color.org.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum colour_when { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
extern const char *const colour_whens[]; /* "auto", "always", "never", NULL: for OPT_CHOICE */

#define OPT_COLOUR(type, member)                                                \
	OPT_CHOICE(0, "color", "auto|always|never", type, member, colour_whens, \
		   "Use colors [default auto: on a terminal, unless NO_COLOR is set]")

struct screen {
	size_t width;  /* columns; 0: not a terminal */
	size_t height; /* lines; 0: not a terminal */
	bool has_color;
};

struct screen screen_get(enum colour_when when);

/* Writes the text to standard output. On a terminal a text of more lines than it has goes
 * through $PAGER (default less; "" or "cat": none). */
int screen_show(const struct screen *s, const struct buf *text, struct err *e) MUST_CHECK;

#endif
