/* SPDX-License-Identifier: MIT */
#include "view/flame/flame_layout.h"

#include <math.h>
#include <stdlib.h>

#define EXACT_MAX (INT64_C(1) << 53)

/* Where one level of the path that is being walked has got to. */
struct level {
	int64_t next;          /* start of the next child, with a box or not */
	int64_t placed;        /* end of the last child that has a box */
	int64_t end;           /* of the parent: nothing goes beyond */
	struct flame_box *box; /* of the parent */
};

struct walk {
	const struct tree *tree;
	int64_t *extents;     /* [node_count]: widths */
	struct level *levels; /* [rows + 1], by depth */
	int64_t drawn;        /* narrower frames are not drawn */
	int64_t least;        /* narrower ones are left out */
	uint32_t depth;       /* of the deepest that is not */
	struct flame_layout *to;
};

static int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Totals without what is negative, so that callees never stick out of their caller. */
static void measure(struct walk *w, struct flame_stats *stats)
{
	const struct tree *t = w->tree;

	for (size_t i = t->node_count; i-- > 0;) {
		int64_t self = t->nodes[i].self;

		stats->negative += self < 0;
		w->extents[i] = add_saturated(w->extents[i], self > 0 ? self : 0);
		if (i)
			w->extents[t->nodes[i].parent] =
				add_saturated(w->extents[t->nodes[i].parent], w->extents[i]);
	}
	while (w->extents[0] >> w->to->halvings >= EXACT_MAX)
		w->to->halvings++;
}

static bool has_box(const struct walk *w, uint32_t node)
{
	return node == 0 ||
	       (w->extents[node] >= w->least && w->tree->nodes[node].depth < FLAME_MAX_LEVELS);
}

static void count_frames(struct walk *w)
{
	struct flame_layout *to = w->to;

	for (uint32_t i = 0; i < w->tree->node_count; i++) {
		uint32_t depth = w->tree->nodes[i].depth;
		bool is_wide = w->extents[i] >= w->drawn || i == 0;

		if (has_box(w, i)) {
			to->stats.drawn += is_wide;
			to->stats.zoomable += !is_wide;
			if (is_wide && depth >= to->levels)
				to->levels = depth + 1;
			w->depth = depth > w->depth ? depth : w->depth;
		} else if (w->extents[i] >= w->least) {
			to->stats.deep++;
		} else if (w->extents[i] > 0) {
			to->stats.narrow++;
		}
	}
	to->count = to->stats.drawn + to->stats.zoomable;
}

/* Leaves out the narrowest, until the others are few enough; never what is drawn. */
static void limit_frames(struct walk *w)
{
	size_t count = FLAME_MAX_FRAMES + 1;

	for (; w->least < w->drawn; w->least = w->least < w->drawn / 2 ? 2 * w->least : w->drawn) {
		count = 0;
		for (uint32_t i = 0; i < w->tree->node_count; i++)
			count += has_box(w, i);
		if (count <= FLAME_MAX_FRAMES)
			return;
	}
}

/* The node's place, after which the level goes on behind it. */
static void visit(struct walk *w, uint32_t node, struct flame_box **at)
{
	uint32_t depth = w->tree->nodes[node].depth;
	unsigned halvings = w->to->halvings;
	struct level *level = &w->levels[depth];
	int64_t start = level->next, end = add_saturated(start, w->extents[node]);
	const struct flame_box *before = *at > w->to->boxes ? *at - 1 : NULL;

	if (end > level->end)
		end = level->end;
	level->next = end;
	if (!has_box(w, node)) {
		level->box->left += (end >> halvings) - (start >> halvings);
		return;
	}
	w->levels[depth + 1] = (struct level){ start, start, end, *at };
	*(*at)++ = (struct flame_box){
		.node = node,
		.depth = depth,
		.ups = before ? before->depth + 1 - depth : 0,
		.is_narrow = node && w->extents[node] < w->drawn,
		.start = start >> halvings,
		.width = (end >> halvings) - (start >> halvings),
		.gap = (start >> halvings) - (level->placed >> halvings),
	};
	level->placed = end;
}

static uint32_t next_node(const struct walk *w, uint32_t node)
{
	const struct tree_node *nodes = w->tree->nodes;

	if (has_box(w, node) && nodes[node].first_child)
		return nodes[node].first_child;
	while (node && !nodes[node].next_sibling)
		node = nodes[node].parent;
	return node ? nodes[node].next_sibling : 0;
}

static void place(struct walk *w)
{
	struct flame_box *at = w->to->boxes;
	uint32_t node = 0;

	w->levels[0] = (struct level){ 0, 0, w->extents[0], NULL }; /* the root has a box */
	do {
		visit(w, node, &at);
		node = next_node(w, node);
	} while (node);
}

/* At least 1. */
static int64_t share_of(const struct walk *w, double share)
{
	return (int64_t)fmax(1, fmin(ceil((double)w->extents[0] * share), 0x1p62));
}

int flame_layout_make(struct flame_layout *ret, const struct tree *t, double drawn_share,
		      double least_share, struct err *e)
{
	struct walk w = { .tree = t, .to = ret };
	int rc = 0;

	*ret = (struct flame_layout){ 0 };
	w.extents = calloc(t->node_count, sizeof *w.extents);
	if (!w.extents)
		return err_nomem(e);
	measure(&w, &ret->stats);
	w.drawn = share_of(&w, drawn_share);
	w.least = share_of(&w, least_share);
	limit_frames(&w);
	count_frames(&w);
	w.levels = calloc((size_t)w.depth + 3, sizeof *w.levels);
	ret->boxes = calloc(ret->count, sizeof *ret->boxes);
	if (w.levels && ret->boxes)
		place(&w);
	else
		rc = err_nomem(e);
	free(w.extents);
	free(w.levels);
	if (rc < 0)
		flame_layout_fini(ret);
	return rc;
}

void flame_layout_fini(struct flame_layout *l)
{
	free(l->boxes);
	*l = (struct flame_layout){ 0 };
}
