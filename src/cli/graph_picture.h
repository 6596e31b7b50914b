/* SPDX-License-Identifier: MIT */
/* graph_picture: the call graph of a profile, drawn by Graphviz' program dot where that is. */
#ifndef CLI_GRAPH_PICTURE_H
#define CLI_GRAPH_PICTURE_H

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* "svg", "pdf" or "png" of such a path; NULL: it is no picture's. */
const char *graph_picture_kind(const char *path);

/* Is there a dot to draw with? Asked before long work. 0 or -ENOENT. */
int graph_picture_check(struct err *e) MUST_CHECK;

/* Draws the sample type that p shows by default. Writes all or nothing. */
int graph_picture_save(const struct profile *p, const char *kind, const char *path,
		       struct err *e) MUST_CHECK;

#endif
