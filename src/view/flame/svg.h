/* SPDX-License-Identifier: MIT */
/*
 * svg: writes text and numbers into an SVG.
 *
 * Source: XML 1.0 (fifth edition), 2.2 for the characters that a document may have.
 */
#ifndef VIEW_FLAME_SVG_H
#define VIEW_FLAME_SVG_H

#include <stddef.h>

#include "base/buf.h"

/* Text from outside made visible: UTF-8 on one line, what is no text is shown as "\xNN" or
 * "\uNNNN". Longer than limit bytes: cut there, with ".." behind. Not yet escaped. */
void svg_make_visible(struct buf *out, const char *text, size_t len, size_t limit);

/* Visible text as content or attribute value, escaped. */
void svg_put_text(struct buf *out, const char *text, size_t len);

/* The same of as much as fits into these columns, cut with "..". */
void svg_put_fitted(struct buf *out, const char *text, size_t len, size_t columns);

/* Digits with at most one decimal: 12, 12.5; |px| below 10^15. */
void svg_put_px(struct buf *out, double px);

/* name="px", with a blank before. */
void svg_put_px_attr(struct buf *out, const char *name, double px);

#endif
