/* SPDX-License-Identifier: MIT */
/* flame_stats: the limits of a flame graph, and the numbers of frames drawn and left out. */
#ifndef VIEW_FLAME_FLAME_STATS_H
#define VIEW_FLAME_FLAME_STATS_H

#include <stddef.h>

#include "base/buf.h"

#define FLAME_MAX_LEVELS 20000      /* frames at this depth and deeper are left out */
#define FLAME_LEAST_PX 0.1          /* narrower frames show only when zoomed */
#define FLAME_MAX_FRAMES (1u << 19) /* of all; beyond, the narrowest are left out */

/* What is in the picture and what is not. */
struct flame_stats {
	size_t drawn;       /* frames, the root included */
	size_t zoomable;    /* frames too narrow to draw, which the script has */
	size_t narrow;      /* frames left out because of min_percent or FLAME_MAX_FRAMES */
	size_t deep;        /* frames left out because of FLAME_MAX_LEVELS */
	size_t negative;    /* stacks whose negative value is taken as 0 */
	struct buf missing; /* differential: the frames that only the other profile has, in
			     * words, owned by the caller; empty: none */
};

#endif
