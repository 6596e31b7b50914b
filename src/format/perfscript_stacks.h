/* SPDX-License-Identifier: MIT */
/*
 * perfscript_stacks: from the lines of a stack to its node of the profile.
 *
 * The sampled address changes from sample to sample, the callers below it hardly do. So the
 * text of all callers together is looked up first; only when it is new, its frames are
 * looked up one by one, and only a frame that is new is taken apart.
 */
#ifndef FORMAT_PERFSCRIPT_STACKS_H
#define FORMAT_PERFSCRIPT_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "format/perfscript_frame.h"
#include "format/perfscript_line.h"
#include "format/textmemo.h"
#include "model/profile.h"

/* All but the profile zero is valid. */
struct script_stacks {
	struct profile *profile;
	struct textmemo callers; /* lines of callers to node */
	struct textmemo frames;  /* lines of a frame to location, 0: it is none */
	struct script_frames parser;
	struct script_text *split; /* [split_cap]: callers of the stack at hand; owned */
	size_t split_cap;
	size_t bad_count;      /* distinct lines that are no frames and were left out */
	const char *first_bad; /* NULL: none */
	const char *too_deep;  /* a stack of more than FORMAT_MAX_DEPTH frames; NULL: none */
};

void script_stacks_fini(struct script_stacks *s);

/* The node of a stack of these lines, leaf first. Failures are remembered by the profile. */
uint32_t script_stacks_node(struct script_stacks *s, struct script_text lines);

#endif
