/* SPDX-License-Identifier: MIT */
/*
 * top_view: what 'auger top' shows of the last second, as lines of text.
 */
#ifndef VIEW_TOP_H
#define VIEW_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/profile.h"
#include "model/profile_delta.h"
#include "view/emit.h"

/* What the user pressed. */
enum top_key {
	TOP_KEY_NONE = 0, /* nothing pressed; others are characters */
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_ENTER,
	TOP_KEY_BACK, /* Escape, Backspace, Left */
	TOP_KEY_RESIZE,
};

enum top_by { TOP_BY_FUNCTION, TOP_BY_MODULE, TOP_BY_THREAD, TOP_BY_PROCESS };

/* All zero is before the first look. */
struct top_view {
	struct profile_delta since;
	struct profile *last; /* of the last look; NULL: none yet */
	enum top_by by;
	enum emit_format format; /* CSV and JSON: one text a refresh, for batch mode */
	bool is_kernel_hidden, is_user_hidden;
	bool is_paused;
	bool is_verbose;      /* of struct emit_opts */
	int chosen;           /* row, from 0 */
	size_t first_line;    /* of the rows, in what was put last */
	size_t row_count;     /* that were put last */
	char callers_of[512]; /* function whose callers are shown; "": none */
	char said[128];       /* one line for the user; "": nothing */
};

void top_view_fini(struct top_view *v);

/* Takes what p grew by since the last look. */
int top_view_take(struct top_view *v, const struct profile *p, struct err *e) MUST_CHECK;

/* The next look is at another profile. */
void top_view_renew(struct top_view *v);

/* Appends the lines: at most so many rows (0: all) and columns (0: no limit). */
int top_view_put(struct top_view *v, size_t width, size_t lines, struct buf *out,
		 struct err *e) MUST_CHECK;

/* The line of the row that is chosen, -1: none. */
int top_view_chosen_line(const struct top_view *v);

void top_view_key(struct top_view *v, int key);
void top_view_say(struct top_view *v, const char *text);

#endif
