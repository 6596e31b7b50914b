/* SPDX-License-Identifier: MIT */
/*
 * flame_change: the changes of frames between two profiles.
 *
 * It compares shares of the whole, so that a longer run alone changes nothing; or (absolute) the
 * values. A change that is not significant by the numbers of samples (compare_z) counts as none;
 * without samples, so does one of less than 1 %.
 */
#ifndef VIEW_FLAME_FLAME_CHANGE_H
#define VIEW_FLAME_FLAME_CHANGE_H

#include "base/buf.h"
#include "view/flame/flame_color.h"
#include "view/flame/flame_side.h"

struct flame_comparison {
	const struct flame_side *drawn, *other;
	uint32_t *other_of; /* [node_count of drawn]: its node of other, or MAP_NONE */
	bool is_negated;    /* drawn comes before other */
	bool is_absolute;
};

struct flame_change {
	int64_t before, after;            /* totals */
	double share_before, share_after; /* of the wholes */
	double ratio;                     /* -1: removed, 0: the same, 1: new */
	bool is_significant;
};

int flame_comparison_make(struct flame_comparison *ret, const struct flame_side *drawn,
			  const struct flame_side *other, struct err *e) MUST_CHECK;
void flame_comparison_fini(struct flame_comparison *c);

/* node: of drawn. */
struct flame_change flame_change_of(const struct flame_comparison *c, uint32_t node);
struct flame_shade flame_change_shade(const struct flame_change *change);

/* Of a wall clock: the off-CPU part of a node of drawn, and its color. */
int64_t flame_off_of(const struct flame_comparison *c, uint32_t node);
struct flame_shade flame_off_shade(const struct flame_comparison *c, uint32_t node);

/*
 * The uppermost nodes of other that drawn does not have, largest first: the first cap of them
 * into ret. *ret_count: how many there are in all.
 */
int flame_missing(const struct flame_comparison *c, uint32_t *ret, size_t cap, size_t *ret_count,
		  struct err *e) MUST_CHECK;

#endif
