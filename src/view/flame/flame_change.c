/* SPDX-License-Identifier: MIT */
#include "view/flame/flame_change.h"

#include <math.h>
#include <stdlib.h>

#include "view/compare.h"

#define LEAST_RATIO 0.01 /* without samples to count, less is no change */

int flame_comparison_make(struct flame_comparison *ret, const struct flame_side *drawn,
			  const struct flame_side *other, struct err *e)
{
	*ret = (struct flame_comparison){ .drawn = drawn, .other = other };
	return tree_match(&drawn->tree, &other->tree, &ret->other_of, e);
}

void flame_comparison_fini(struct flame_comparison *c)
{
	free(c->other_of);
	*c = (struct flame_comparison){ 0 };
}

/* Is it significant by the numbers of samples? */
static bool is_significant(const struct flame_comparison *c, uint32_t node, uint32_t other,
			   double ratio)
{
	int64_t here = flame_side_samples(c->drawn, node, false);
	int64_t there = other == MAP_NONE ? 0 : flame_side_samples(c->other, other, false);
	double here_whole = (double)flame_side_samples(c->drawn, 0, false);
	double there_whole = (double)flame_side_samples(c->other, 0, false);

	if (here < 0 || there < 0 || here_whole <= 0 || there_whole <= 0)
		return fabs(ratio) >= LEAST_RATIO;
	return fabs(compare_z(there, here, c->is_absolute ? 1 : here_whole / there_whole)) >=
	       COMPARE_Z;
}

static double share_of(int64_t value, int64_t whole)
{
	return whole > 0 ? (double)value / (double)whole : 0;
}

/* From -1 (removed) over 0 (the same) to 1 (new). */
static double ratio_of(double before, double after)
{
	double larger = fmax(fabs(before), fabs(after));

	return larger > 0 ? (after - before) / larger : 0;
}

struct flame_change flame_change_of(const struct flame_comparison *c, uint32_t node)
{
	const struct tree *drawn = &c->drawn->tree, *other = &c->other->tree;
	uint32_t match = c->other_of[node];
	int64_t here = drawn->nodes[node].total;
	int64_t there = match == MAP_NONE ? 0 : other->nodes[match].total;
	double share_here = share_of(here, drawn->nodes[0].total);
	double share_there = share_of(there, other->nodes[0].total);
	struct flame_change change = {
		.before = c->is_negated ? here : there,
		.after = c->is_negated ? there : here,
		.share_before = c->is_negated ? share_here : share_there,
		.share_after = c->is_negated ? share_there : share_here,
	};

	change.ratio = c->is_absolute ? ratio_of((double)change.before, (double)change.after)
				      : ratio_of(change.share_before, change.share_after);
	change.is_significant = change.ratio != 0 && is_significant(c, node, match, change.ratio);
	return change;
}

/* Small changes get finer grades than large ones. */
struct flame_shade flame_change_shade(const struct flame_change *change)
{
	unsigned shade = (unsigned)(sqrt(fabs(change->ratio)) * FLAME_SHADES);

	if (!change->is_significant)
		return (struct flame_shade){ FLAME_BAND_SAME, 0 };
	return (struct flame_shade){ change->ratio < 0 ? FLAME_BAND_LESS : FLAME_BAND_MORE,
				     shade < FLAME_SHADES ? shade : FLAME_SHADES - 1 };
}

int64_t flame_off_of(const struct flame_comparison *c, uint32_t node)
{
	uint32_t match = c->other_of[node];

	return match == MAP_NONE ? 0 : c->other->tree.nodes[match].total;
}

/* Four hues in each half, the light by the depth of the pair. */
struct flame_shade flame_off_shade(const struct flame_comparison *c, uint32_t node)
{
	const struct tree *t = &c->drawn->tree;
	double share = share_of(flame_off_of(c, node), t->nodes[node].total);
	unsigned grade = (unsigned)(share * FLAME_SHADES);
	unsigned half = FLAME_SHADES / 2;

	if (node == 0)
		return (struct flame_shade){ FLAME_BAND_ROOT, 0 };
	if (grade >= FLAME_SHADES)
		grade = FLAME_SHADES - 1;
	return (struct flame_shade){ grade < half ? FLAME_BAND_ON : FLAME_BAND_OFF,
				     grade % half * 2 + t->nodes[node].frame % 2 };
}

/* Keeps the list sorted, largest first; what falls off its end is forgotten. */
static void keep_largest(const struct tree *t, uint32_t node, uint32_t *list, size_t cap,
			 size_t count)
{
	size_t at = count < cap ? count : cap;

	if (at == cap && (cap == 0 || t->nodes[list[cap - 1]].total >= t->nodes[node].total))
		return;
	if (at == cap)
		at--;
	for (; at > 0 && t->nodes[list[at - 1]].total < t->nodes[node].total; at--)
		list[at] = list[at - 1];
	list[at] = node;
}

int flame_missing(const struct flame_comparison *c, uint32_t *ret, size_t cap, size_t *ret_count,
		  struct err *e)
{
	const struct tree *other = &c->other->tree;
	uint32_t *drawn_of;
	int rc = tree_match(other, &c->drawn->tree, &drawn_of, e);

	if (rc < 0)
		return rc;
	*ret_count = 0;
	for (uint32_t i = 1; i < other->node_count; i++)
		if (drawn_of[i] == MAP_NONE && drawn_of[other->nodes[i].parent] != MAP_NONE)
			keep_largest(other, i, ret, cap, (*ret_count)++);
	free(drawn_of);
	return 0;
}
