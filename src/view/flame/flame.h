/* SPDX-License-Identifier: MIT */
/*
 * flame: draws a profile as a flame graph, one self-contained SVG.
 *
 * The width of a frame is its total; its callees stand on it, in order of name. The picture is
 * complete without script: labels, native tooltips, legend. The script of data/flame adds zoom,
 * search and keys. The file is well-formed XML 1.0 with any names, and needs nothing from the
 * network.
 *
 * Differential: the widths are those of one profile, and the colors show the change of each frame
 * against another; frames that only the other profile has are listed.
 */
#ifndef VIEW_FLAME_FLAME_H
#define VIEW_FLAME_FLAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/profile.h"
#include "view/flame/flame_color.h"
#include "view/flame/flame_stats.h"

struct flame_opts {
	const char *title;  /* NULL: the one for this kind of picture */
	const char *note;   /* said below the title; NULL: nothing */
	size_t type;        /* index of the sample type */
	unsigned width;     /* pixels, at least 320; in a browser the window decides */
	double min_percent; /* leaves out what is below this share of the whole */
	enum flame_colors colors;
	bool is_icicle;   /* root on top */
	bool is_reversed; /* leaves become roots */

	const struct profile *other; /* differential: what to compare with, NULL: not */
	size_t other_type;           /* index in other */
	bool is_negated;             /* other comes after the profile that is drawn */
	bool is_absolute;            /* values are compared, not shares of the whole */
	bool is_wall; /* other is the profile itself, other_type what of type is off the CPU:
		       * colors show that, nothing is compared */
};

/* Appends the SVG. */
int flame_write(const struct profile *p, const struct flame_opts *o, struct buf *out,
		struct flame_stats *ret_stats, struct err *e) MUST_CHECK;

#endif
