/* SPDX-License-Identifier: MIT */
/* stacks_tree: the stacks of threads as one prefix tree: what they have in common is one line. */
#ifndef CLI_STACKS_STACKS_TREE_H
#define CLI_STACKS_STACKS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "stacks/thread_stacks.h"
#include "view/tree.h"

#define STACKS_TREE_LINES 40 /* printed at most */

/* The frames of a thread, the first is the outermost. */
struct stack_frames {
	uint32_t *ids; /* [count]; of struct frames */
	size_t count;
};

/* All zero is empty. */
struct stacks_text {
	const struct thread_stacks *stacks; /* borrowed */
	struct frames frames;
	struct stack_frames *of_threads; /* [threads]; owned */
};

/* by: function, or line. s is borrowed. */
int stacks_text_init(struct stacks_text *t, const struct thread_stacks *s, enum frame_by by,
		     struct err *e) MUST_CHECK;
void stacks_text_fini(struct stacks_text *t);

/* The name of a frame; NUL-terminated. */
const char *stacks_text_frame(const struct stacks_text *t, uint32_t id);
/* Whether it is a function of a script, whose file is its module, too. */
bool stacks_text_is_script(const struct stacks_text *t, uint32_t id);

/* Appends "93 s", "2.5 h". */
void stacks_text_put_time(struct buf *out, int64_t ns);

/* Appends the tree. Branches with the most threads come first. width: columns of the screen. */
int stacks_tree_put(const struct stacks_text *t, size_t width, struct buf *out,
		    struct err *e) MUST_CHECK;

#endif
