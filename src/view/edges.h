/* SPDX-License-Identifier: MIT */
/*
 * edges: the callers and callees of chosen functions.
 *
 * The value of an edge is the total of the stacks with this call; a stack counts once even if the
 * call is in it several times. So without recursion the callers of a function add up to its total,
 * and so do its callees and its self. A module does not call itself.
 */
#ifndef VIEW_EDGES_H
#define VIEW_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "view/flat.h"

struct edge {
	uint32_t caller, callee; /* rows of the flat; caller FLAT_ROOT: nothing, it is outermost */
	uint32_t on_path;        /* times it is in the stack being walked */
	int64_t value;
};

struct edges {
	const struct flat *flat;
	struct edge *list; /* [count] */
	size_t count, cap;
	struct map ids;                  /* (caller, callee) to index of list */
	uint32_t *by_callee, *by_caller; /* [count]: indices of list, in order of that row */
};

/* is_asked: [row_count of f]. Edges with such a row at either end. */
int edges_init(struct edges *x, const struct flat *f, const bool *is_asked,
	       struct err *e) MUST_CHECK;
void edges_fini(struct edges *x);

/* The callers (or callees) of row, largest first, ties by name: [*ret_count] indices of list,
 * borrowed. */
const uint32_t *edges_callers(const struct edges *x, uint32_t row, size_t *ret_count);
const uint32_t *edges_callees(const struct edges *x, uint32_t row, size_t *ret_count);

#endif
