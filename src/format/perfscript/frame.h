/* SPDX-License-Identifier: MIT */
/*
 * perfscript_frame: converts the text of one frame to a location.
 *
 * The text is one line. It is several lines if functions are inlined at the address (innermost
 * first, each but the last ends with "(inlined)"), or if perf printed source positions (a line
 * after each).
 */
#ifndef FORMAT_PERFSCRIPT_FRAME_H
#define FORMAT_PERFSCRIPT_FRAME_H

#include <stdint.h>

#include "format/perfscript/line.h"
#include "format/text_cache.h"
#include "model/profile.h"

/* All zero is valid. */
struct script_frames {
	struct line *lines; /* [count], of the frame at hand; owned */
	uint32_t count, cap;
	struct text_cache functions; /* name to function, of those without a file */
	struct text_cache mappings;  /* dso to mapping */
};

/* 0: it is no frame, or out of memory (see profile_error). */
uint32_t script_frames_add(struct script_frames *f, struct profile *p, struct str text);
void script_frames_fini(struct script_frames *f);

#endif
