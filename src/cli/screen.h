/* SPDX-License-Identifier: MIT */
/*
 * screen: standard output as people see it: its size, colors, a pager for long texts.
 *
 * Colors and the pager are for terminals only. Source of the rules on NO_COLOR, CLICOLOR and
 * CLICOLOR_FORCE: no-color.org, bixense.com/clicolors.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "view/emit.h"

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
extern const char *const color_whens[]; /* "auto", "always", "never", NULL: for OPT_CHOICE */

#define OPT_COLOR(type, member)                                                \
	OPT_CHOICE(0, "color", "auto|always|never", type, member, color_whens, \
		   "Use colors [default auto: on a terminal, unless NO_COLOR is set]")

struct screen {
	size_t width;  /* columns; 0: no limit */
	size_t height; /* lines; 0: not a terminal */
	bool has_color;
};

struct screen screen_get(enum color_when when);

/* Columns that a table may take there; 0: no limit. A pipe or a file gets 120, and no limit with
 * -v. */
size_t screen_width(int fd);

/* Writes the text to standard output. On a terminal a text of more lines than it has goes
 * through $PAGER (default less; "" or "cat": none). */
int screen_show(const struct screen *s, const struct buf *text, struct err *e) MUST_CHECK;

/* Rows on their way to standard output; views put them into out. */
struct screen_rows {
	struct screen screen;
	struct buf text;
	struct emit out; /* writes to text: r must stay where it is */
};

/* format: an enum emit_format, color: an enum color_when, as options hold them. */
void screen_rows_begin(struct screen_rows *r, int format, int color);
/* Shows them. */
int screen_rows_end(struct screen_rows *r, struct err *e) MUST_CHECK;
void screen_rows_fini(struct screen_rows *r);

#endif
