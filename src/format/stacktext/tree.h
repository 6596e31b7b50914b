/* SPDX-License-Identifier: MIT */
/*
 * stacktext_tree: rows of a tree, each with a value that has those of the rows below it.
 *
 * A row's own part is what these leave. It is added when the next row is not below it.
 */
#ifndef FORMAT_STACKTEXT_TREE_H
#define FORMAT_STACKTEXT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rows.h"
#include "base/str.h"
#include "format/stacktext/stacktext.h"

struct stacktext_tree {
	struct stacktext *t; /* borrowed */
	bool leaf_first;     /* the root of the tree is the innermost frame */
	bool keeps_zero;     /* add rows that have nothing for themselves, too */
	/* NULL, or: what ends in such a frame is not added. */
	bool (*is_hidden)(struct str name);
	struct rows left; /* int64_t: by depth */
};

void stacktext_tree_fini(struct stacktext_tree *tree);

/* Depth that is too large is an empty row for each that is missing. Failures are remembered by t.
 */
void stacktext_tree_add(struct stacktext_tree *tree, size_t depth, struct str name, int64_t total);

/* No row is below those so far. */
void stacktext_tree_end(struct stacktext_tree *tree);

#endif
