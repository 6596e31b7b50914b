/* SPDX-License-Identifier: MIT */
/*
 * perfscript_stacks: finds the profile's node for the lines of a stack.
 *
 * The sampled address changes from sample to sample, its callers rarely. So the text of all
 * callers is looked up as one; only a new text is looked up frame by frame, and only a new frame
 * is parsed.
 *
 * A lookup waits for memory about as long as a sample takes to parse. So it starts when a stack is
 * read and ends after the next stacks were read.
 */
#ifndef FORMAT_PERFSCRIPT_STACKS_H
#define FORMAT_PERFSCRIPT_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "format/perfscript/frame.h"
#include "format/perfscript/line.h"
#include "format/text_cache.h"
#include "model/profile.h"

/* All but the profile zero is valid. */
struct script_stacks {
	struct profile *profile;
	struct text_cache callers; /* lines of callers to node */
	struct text_cache frames;  /* lines of a frame to location, 0: it is none */
	struct script_frames parser;
	struct str *split; /* [split_cap]: callers of the stack at hand; owned */
	size_t split_cap;
	size_t bad_count;      /* distinct lines that are no frames and were left out */
	const char *first_bad; /* NULL: none */
	const char *too_deep;  /* a stack of more than FORMAT_MAX_DEPTH frames; NULL: none */
};

void script_stacks_fini(struct script_stacks *s);

/* A stack that is being looked up. */
struct script_stack {
	struct str leaf, callers; /* lines; empty: none */
	struct text_cache_key leaf_key, callers_key;
	uint32_t location, callers_node; /* of them */
};

/* lines: leaf first. */
void script_stacks_begin(const struct script_stacks *s, struct str lines, struct script_stack *ret);

/* Once, behind it. Failures are remembered by the profile. */
void script_stacks_go_on(struct script_stacks *s, struct script_stack *stack);

/* The node, behind that. Failures are remembered by the profile. */
uint32_t script_stacks_end(const struct script_stacks *s, const struct script_stack *stack);

#endif
