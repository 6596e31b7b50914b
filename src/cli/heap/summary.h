/* SPDX-License-Identifier: MIT */
/* summary: what holds the memory, what leaked and what was temporary, in at most 20 lines. */
#ifndef CLI_HEAP_SUMMARY_H
#define CLI_HEAP_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "heap/collect.h"

struct heap_summary {
	const char *title;      /* before the first line: "auger: " */
	const char *path;       /* of the profile; NULL: the default; "-": standard output */
	bool has_path;          /* a profile was written */
	bool is_live;           /* what is held now comes first */
	bool is_attached;       /* blocks from before are not in it */
	int64_t peak_rss_bytes; /* 0: unknown */
};

/* Appends it. Frames that the profile drops are left out of it from then on. */
int heap_summary_put(struct buf *out, struct heap_collection *heap, const struct heap_summary *s,
		     struct err *e) MUST_CHECK;

#endif
