/* SPDX-License-Identifier: MIT */
/* guidance: what to do about the paths of a cluster, in Markdown. */
#ifndef CACHEFS_GUIDANCE_H
#define CACHEFS_GUIDANCE_H

#include "base/buf.h"
#include "cachefs/cluster_tables.h"

/* Appends one line with "- " for each advice that the paths give reason to. */
void guidance_put(struct buf *out, const struct cluster_view *v);

#endif
