/* SPDX-License-Identifier: MIT */
#include "format/stacktext/tree.h"

#include "format/format.h"

void stacktext_tree_fini(struct stacktext_tree *tree)
{
	rows_fini(&tree->left);
}

/* Rows of this depth and more are over. */
static void end_rows(struct stacktext_tree *tree, size_t depth)
{
	const int64_t *left = tree->left.data;
	bool is_hidden;

	if (stacktext_depth(tree->t) <= depth)
		return;
	is_hidden = tree->is_hidden && tree->is_hidden(stacktext_top(tree->t));
	for (size_t i = stacktext_depth(tree->t); i-- > depth;) {
		if (!is_hidden && (left[i] > 0 || tree->keeps_zero))
			stacktext_add(tree->t, tree->leaf_first, left[i]);
		stacktext_cut(tree->t, i);
	}
	tree->left.count = depth;
}

/* false: it failed. */
static bool push(struct stacktext_tree *tree, struct str name, int64_t total)
{
	int64_t *left = rows_add(&tree->left, sizeof *left);
	size_t depth = stacktext_depth(tree->t);

	if (!left) {
		stacktext_fail(tree->t);
		return false;
	}
	*left = total;
	stacktext_push(tree->t, name);
	return stacktext_depth(tree->t) > depth;
}

void stacktext_tree_add(struct stacktext_tree *tree, size_t depth, struct str name, int64_t total)
{
	int64_t *left;

	end_rows(tree, depth);
	while (stacktext_depth(tree->t) < depth)
		if (!push(tree, (struct str){ "", 0 }, 0))
			return;
	left = tree->left.data;
	if (depth && __builtin_sub_overflow(left[depth - 1], total, &left[depth - 1]))
		left[depth - 1] = INT64_MIN;
	push(tree, name, total);
}

void stacktext_tree_end(struct stacktext_tree *tree)
{
	end_rows(tree, 0);
}
