/* SPDX-License-Identifier: MIT */
/*
 * flame_layout: selects the frames of a flame graph and computes their positions.
 *
 * Positions are in the unit of the value, halved until the whole is below 2^53, so that a double
 * (JavaScript's number) holds each exactly. Negative values count as 0.
 */
#ifndef VIEW_FLAME_FLAME_LAYOUT_H
#define VIEW_FLAME_FLAME_LAYOUT_H

#include "view/flame/flame_stats.h"
#include "view/tree.h"

struct flame_box {
	uint32_t node;  /* of the tree */
	uint32_t depth; /* 0 for the root */
	uint32_t ups;   /* levels up from the box before this one to its parent's box */
	int64_t start;  /* left edge, counted from the root's */
	int64_t width;
	bool is_narrow; /* only the script has it */
	bool is_bare;   /* drawn without name and tooltip, which the script has; set by who draws */
	int64_t left;   /* width of its children that have no box */
	int64_t gap;    /* from the end of the sibling's box before it, else the parent's start */
};

struct flame_layout {
	struct flame_box *boxes;  /* [count]: parents before children, left to right */
	size_t count;             /* stats.drawn and stats.zoomable */
	unsigned halvings;        /* of the values, to positions */
	uint32_t levels;          /* rows of those that are drawn: 1 for the root alone */
	struct flame_stats stats; /* all but missing */
};

/* Of the root's width: drawn_share, below which a frame is not drawn; least_share, at most that,
 * below which it is left out. */
int flame_layout_make(struct flame_layout *ret, const struct tree *t, double drawn_share,
		      double least_share, struct err *e) MUST_CHECK;
void flame_layout_fini(struct flame_layout *l);

#endif
