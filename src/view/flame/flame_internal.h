/* SPDX-License-Identifier: MIT */
/* flame_internal: what the source files of the flame graph writer share. */
#ifndef VIEW_FLAME_FLAME_INTERNAL_H
#define VIEW_FLAME_FLAME_INTERNAL_H

#include "view/flame/flame.h"
#include "view/flame/flame_change.h"
#include "view/flame/flame_layout.h"

/* Bytes that are shown of a text from outside. */
#define FLAME_NAME_LIMIT 4096
#define FLAME_WORD_LIMIT 64

#define FLAME_HEAD_LINES 4

struct picture {
	const struct flame_opts *opts;
	const struct profile *profile;
	struct flame_side side, other; /* other: empty unless differential */
	struct flame_comparison comparison;
	struct flame_layout layout;
	struct buf type, unit;                     /* of the value, visible */
	struct buf title, lines[FLAME_HEAD_LINES]; /* of the head, visible */
	size_t line_count;
	double top;                  /* height above the frames */
	double row;                  /* height of a row */
	double height;               /* of the whole */
	double scale;                /* pixels a unit of layout */
	uint8_t shades[FLAME_BANDS]; /* bits of those in use */
	struct buf frames, table;    /* written before the style, which depends on them */
	struct buf bare[FLAME_BANDS][FLAME_SHADES]; /* paths of the frames without names */
	struct buf name;                            /* of the frame being written, visible */
	struct buf scratch;
	struct buf *out;
};

/* Is the profile compared with another? */
static inline bool flame_is_diff(const struct flame_opts *o)
{
	return o->other && !o->is_wall;
}

/* The native tooltip of a node whose name is in p->name: name, origin, total, self, change; a
 * line each. The script takes the first for the name. */
void flame_put_tooltip(struct picture *p, struct buf *out, uint32_t node);

/* The second line of the tooltip with the '\n' before it: "\nlibrary libc.so.6 ...", or nothing. */
void flame_put_origin(struct picture *p, struct buf *out, const struct frame *frame);

struct flame_shade flame_node_shade(const struct picture *p, uint32_t node);

/* The end of the element #data with all frames, and #names. */
void flame_make_table(struct picture *p, struct buf *out);

/* Fills title and lines. */
int flame_make_head(struct picture *p, struct err *e) MUST_CHECK;

/* Visible text as content; failure is carried over. */
void flame_put_visible(struct buf *out, const struct buf *visible);

/* 1234567 as "1,234,567". */
void flame_put_grouped(struct buf *out, int64_t value);

#endif
