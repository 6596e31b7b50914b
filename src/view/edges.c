/* SPDX-License-Identifier: MIT */
#include "view/edges.h"

#include <stdlib.h>

static struct edge *find_edge(struct edges *x, uint32_t caller, uint32_t callee)
{
	uint32_t *slot = map_at(&x->ids, map_pair(caller, callee));

	if (!slot)
		return NULL;
	if (*slot == MAP_NONE) {
		if (x->count == x->cap) {
			size_t cap = x->cap ? 2 * x->cap : 64;
			struct edge *list = reallocarray(x->list, cap, sizeof *list);

			if (!list)
				return NULL;
			x->list = list;
			x->cap = cap;
		}
		*slot = (uint32_t)x->count;
		x->list[x->count++] = (struct edge){ .caller = caller, .callee = callee };
	}
	return &x->list[*slot];
}

/* The row of the innermost frame of a node; FLAT_ROOT below all stacks. */
static uint32_t top_row(const struct flat *f, uint32_t node)
{
	size_t count;
	uint32_t location = profile_get_node(f->frames.profile, node).location;

	return node ? f->row_of[frames_of(&f->frames, location, &count)[0]] : FLAT_ROOT;
}

/* Enters or leaves the calls that the frames of one node make. */
static int visit(struct edges *x, const struct stacks_walk *walk, const bool *is_asked)
{
	const struct flat *f = x->flat;
	struct stack_node node = profile_get_node(f->frames.profile, walk->node);
	uint32_t caller = top_row(f, node.parent);
	size_t count;
	const uint32_t *ids = frames_of(&f->frames, node.location, &count);

	while (count-- > 0) {
		uint32_t callee = f->row_of[ids[count]];

		bool is_call = f->frames.by != FRAME_BY_MODULE || caller != callee;

		if (is_call && (is_asked[caller] || is_asked[callee])) {
			struct edge *edge = find_edge(x, caller, callee);

			if (!edge)
				return -1;
			if (walk->is_leaving)
				edge->on_path--;
			else if (edge->on_path++ == 0)
				edge->value = stacks_add(edge->value, f->stacks.total[walk->node]);
		}
		caller = callee;
	}
	return 0;
}

static int compare_values(const struct edges *x, const struct edge *a, const struct edge *b)
{
	int order = (a->value < b->value) - (a->value > b->value);

	if (!order)
		order = flat_compare_names(x->flat, a->caller, b->caller);
	return order ? order : flat_compare_names(x->flat, a->callee, b->callee);
}

static int compare_callees(const void *left, const void *right, void *edges)
{
	const struct edges *x = edges;
	const struct edge *a = &x->list[*(const uint32_t *)left];
	const struct edge *b = &x->list[*(const uint32_t *)right];
	int order = (a->callee > b->callee) - (a->callee < b->callee);

	return order ? order : compare_values(x, a, b);
}

static int compare_callers(const void *left, const void *right, void *edges)
{
	const struct edges *x = edges;
	const struct edge *a = &x->list[*(const uint32_t *)left];
	const struct edge *b = &x->list[*(const uint32_t *)right];
	int order = (a->caller > b->caller) - (a->caller < b->caller);

	return order ? order : compare_values(x, a, b);
}

static int sort_edges(struct edges *x)
{
	size_t count = x->count;

	if (!count)
		return 0;
	x->by_callee = reallocarray(NULL, count, sizeof *x->by_callee);
	x->by_caller = reallocarray(NULL, count, sizeof *x->by_caller);
	if (!x->by_callee || !x->by_caller)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		x->by_callee[i] = x->by_caller[i] = i;
	qsort_r(x->by_callee, count, sizeof *x->by_callee, compare_callees, x);
	qsort_r(x->by_caller, count, sizeof *x->by_caller, compare_callers, x);
	return 0;
}

int edges_init(struct edges *x, const struct flat *f, const bool *is_asked, struct err *e)
{
	struct stacks_walk walk = { 0 };
	int rc = 0;

	*x = (struct edges){ .flat = f };
	while (rc == 0 && stacks_step(&f->stacks, &walk))
		rc = visit(x, &walk, is_asked);
	if (rc == 0)
		rc = sort_edges(x);
	if (rc == 0)
		return 0;
	edges_fini(x);
	return err_nomem(e);
}

void edges_fini(struct edges *x)
{
	free(x->list);
	free(x->by_callee);
	free(x->by_caller);
	map_fini(&x->ids);
	*x = (struct edges){ 0 };
}

/* The run of indices whose edges have row at this end. */
static const uint32_t *find_run(const struct edges *x, const uint32_t *order, bool is_callee,
				uint32_t row, size_t *ret_count)
{
	size_t low = 0, high = x->count, end;

	*ret_count = 0;
	if (!x->count)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct edge *edge = &x->list[order[middle]];

		if ((is_callee ? edge->callee : edge->caller) < row)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < x->count; end++) {
		const struct edge *edge = &x->list[order[end]];

		if ((is_callee ? edge->callee : edge->caller) != row)
			break;
	}
	*ret_count = end - low;
	return order + low;
}

const uint32_t *edges_callers(const struct edges *x, uint32_t row, size_t *ret_count)
{
	return find_run(x, x->by_callee, true, row, ret_count);
}

const uint32_t *edges_callees(const struct edges *x, uint32_t row, size_t *ret_count)
{
	return find_run(x, x->by_caller, false, row, ret_count);
}
