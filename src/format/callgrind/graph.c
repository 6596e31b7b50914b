/* SPDX-License-Identifier: MIT */
#include "format/callgrind/graph.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define MIN_SHARE (1.0 / 20000)
#define MAX_FRAMES 1000
#define MAX_COSTS (4 << 20)
#define MAX_LOOKS (64 << 20) /* at calls, in all stacks */
#define MAX_NUMBERS (64 << 20)

struct graph_function {
	uint32_t location;
	uint32_t node;       /* of the profile, that took a cost of it last; 0: none */
	size_t costs;        /* its own: row in the graph's costs */
	uint32_t first_call; /* place in the order of calls; those up to the next function's */
	bool is_open;        /* it is in the stack */
};

struct graph_call {
	uint32_t caller, callee;
	size_t costs; /* inclusive */
};

/* A function in the stack. */
struct visit {
	uint32_t function, node;
	uint32_t next_call; /* place in the order of calls */
};

/* A stack that gets costs: its values are in another array. */
struct place {
	uint32_t function, node;
};

struct walk {
	struct callgrind_graph *g;
	size_t count;       /* events */
	uint32_t *order;    /* [calls]: by caller */
	struct rows visits; /* struct visit */
	struct rows
		shares; /* double[count] of each visit: what part of the function's costs it has */
	struct rows places; /* struct place */
	struct rows values; /* double[count] of each place */
	size_t looks;       /* at calls, so far */
	double *flow;       /* [count]: of the function that is entered */
	double *totals;     /* [count] */
};

void callgrind_graph_fini(struct callgrind_graph *g)
{
	rows_fini(&g->functions);
	rows_fini(&g->calls);
	rows_fini(&g->costs);
	map_fini(&g->by_name);
	map_fini(&g->by_pair);
}

static void walk_fini(struct walk *w)
{
	free(w->order);
	free(w->flow);
	free(w->totals);
	rows_fini(&w->visits);
	rows_fini(&w->shares);
	rows_fini(&w->places);
	rows_fini(&w->values);
}

static struct graph_function *function_at(const struct callgrind_graph *g, uint32_t index)
{
	return (struct graph_function *)g->functions.data + index;
}

static const struct graph_call *call_at(const struct walk *w, uint32_t place)
{
	return (const struct graph_call *)w->g->calls.data + w->order[place];
}

static int64_t *costs_at(const struct callgrind_graph *g, size_t row)
{
	return (int64_t *)g->costs.data + row * g->event_count;
}

static int add_costs(struct callgrind_graph *g, size_t *ret)
{
	if (g->costs.count >= MAX_NUMBERS / g->event_count ||
	    !rows_add(&g->costs, g->event_count * sizeof(int64_t)))
		return -ENOMEM;
	*ret = g->costs.count - 1;
	return 0;
}

static uint32_t add_location(struct profile *p, uint32_t name, uint32_t file)
{
	struct function f = { .name = name, .system_name = name, .file = file };
	struct line line = { .function = profile_add_function(p, &f) };

	return profile_add_location(p, &(struct location){ .lines = &line, .line_count = 1 });
}

uint32_t callgrind_graph_function(struct callgrind_graph *g, uint32_t name, uint32_t file)
{
	uint32_t *index = map_at(&g->by_name, map_pair(name, file));
	struct graph_function *function;

	if (!index)
		return CALLGRIND_NO_FUNCTION;
	if (*index == MAP_NONE) {
		size_t costs;

		if (add_costs(g, &costs) < 0)
			return CALLGRIND_NO_FUNCTION;
		function = rows_add(&g->functions, sizeof *function);
		if (!function)
			return CALLGRIND_NO_FUNCTION;
		*function = (struct graph_function){ .location = add_location(g->p, name, file),
						     .costs = costs };
		*index = (uint32_t)(g->functions.count - 1);
	}
	return *index;
}

static void sum_costs(const struct callgrind_graph *g, size_t row, const int64_t *costs)
{
	int64_t *sums = costs_at(g, row);

	for (size_t i = 0; i < g->event_count; i++)
		number_add(&sums[i], costs[i]);
}

void callgrind_graph_add_cost(struct callgrind_graph *g, uint32_t function, const int64_t *costs)
{
	sum_costs(g, function_at(g, function)->costs, costs);
}

int callgrind_graph_add_call(struct callgrind_graph *g, uint32_t caller, uint32_t callee,
			     const int64_t *costs)
{
	uint32_t *index = map_at(&g->by_pair, map_pair(caller, callee));
	struct graph_call *call;

	if (!index)
		return -ENOMEM;
	if (*index == MAP_NONE) {
		size_t row;

		if (add_costs(g, &row) < 0)
			return -ENOMEM;
		call = rows_add(&g->calls, sizeof *call);
		if (!call)
			return -ENOMEM;
		*call = (struct graph_call){ caller, callee, row };
		*index = (uint32_t)(g->calls.count - 1);
	}
	call = (struct graph_call *)g->calls.data + *index;
	sum_costs(g, call->costs, costs);
	return 0;
}

/* Calls by caller, in the order of the file. */
static int sort_calls(struct walk *w)
{
	const struct graph_call *calls = w->g->calls.data;
	size_t count = w->g->functions.count;
	struct graph_function *f = w->g->functions.data;
	uint32_t at = 0;

	w->order = calloc(w->g->calls.count + 1, sizeof *w->order);
	w->flow = calloc(w->count + 1, sizeof *w->flow);
	w->totals = calloc(w->count + 1, sizeof *w->totals);
	if (!w->order || !w->flow || !w->totals)
		return -ENOMEM;
	for (size_t i = 0; i < w->g->calls.count; i++)
		f[calls[i].caller].first_call++;
	for (size_t i = 0; i < count; i++) {
		at += f[i].first_call;
		f[i].first_call = at;
	}
	for (size_t i = w->g->calls.count; i-- > 0;)
		w->order[--f[calls[i].caller].first_call] = (uint32_t)i;
	return 0;
}

static uint32_t last_call(const struct walk *w, uint32_t function)
{
	return function + 1 < w->g->functions.count ? function_at(w->g, function + 1)->first_call
						    : (uint32_t)w->g->calls.count;
}

/* Is a part of the costs large enough to be followed? */
static bool is_large(const struct walk *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->flow[i] >= w->totals[i] * MIN_SHARE && w->flow[i] >= 0.5)
			return true;
	return false;
}

/* What part of its costs the function has in this stack: those of what it calls that is not in the
 * stack, and its own. */
static void make_shares(const struct walk *w, uint32_t function, double *shares)
{
	const struct graph_function *f = function_at(w->g, function);
	uint32_t last = last_call(w, function);

	for (size_t i = 0; i < w->count; i++)
		shares[i] = (double)costs_at(w->g, f->costs)[i];
	for (uint32_t at = f->first_call; at < last; at++) {
		const struct graph_call *call = call_at(w, at);

		if (function_at(w->g, call->callee)->is_open)
			continue;
		for (size_t i = 0; i < w->count; i++)
			shares[i] += (double)costs_at(w->g, call->costs)[i];
	}
	for (size_t i = 0; i < w->count; i++)
		shares[i] = shares[i] > 0 ? w->flow[i] / shares[i] : 0;
}

/* Enters a function with the costs in w->flow, and gives it its own. */
static int enter(struct walk *w, uint32_t function, uint32_t parent)
{
	struct graph_function *f = function_at(w->g, function);
	double *shares = rows_add(&w->shares, w->count * sizeof *shares);
	struct visit *visit = rows_add(&w->visits, sizeof *visit);
	struct place *place = rows_add(&w->places, sizeof *place);
	double *values = rows_add(&w->values, w->count * sizeof *values);

	if (!shares || !visit || !place || !values)
		return -ENOMEM;
	f->is_open = true;
	make_shares(w, function, shares);
	w->looks += last_call(w, function) - f->first_call;
	*visit = (struct visit){ function, profile_push(w->g->p, parent, f->location),
				 f->first_call };
	*place = (struct place){ function, visit->node };
	for (size_t i = 0; i < w->count; i++)
		values[i] = shares[i] * (double)costs_at(w->g, f->costs)[i];
	return 0;
}

/* The next call of the innermost function; its costs are in w->flow. False: there is none. */
static bool next_call(struct walk *w, uint32_t *ret_callee)
{
	struct visit *visit = (struct visit *)w->visits.data + w->visits.count - 1;
	const double *shares = (const double *)w->shares.data + (w->shares.count - 1) * w->count;
	uint32_t last = last_call(w, visit->function);

	while (visit->next_call < last) {
		const struct graph_call *call = call_at(w, visit->next_call++);

		if (function_at(w->g, call->callee)->is_open)
			continue;
		for (size_t i = 0; i < w->count; i++)
			w->flow[i] = shares[i] * (double)costs_at(w->g, call->costs)[i];
		*ret_callee = call->callee;
		return true;
	}
	return false;
}

static int walk_from(struct walk *w, uint32_t root)
{
	int rc = enter(w, root, 0);

	while (rc == 0 && w->visits.count) {
		const struct visit *top =
			(const struct visit *)w->visits.data + w->visits.count - 1;
		uint32_t callee;

		if (!next_call(w, &callee)) {
			function_at(w->g, top->function)->is_open = false;
			w->visits.count--;
			w->shares.count--;
		} else if (is_large(w) && w->visits.count < MAX_FRAMES && w->looks < MAX_LOOKS &&
			   w->places.count < MAX_COSTS / w->count) {
			rc = enter(w, callee, top->node);
		}
	}
	return rc;
}

/* The costs of each function that no caller accounts for, as [functions * count]. */
static double *find_roots(const struct walk *w)
{
	const struct graph_function *f = w->g->functions.data;
	const struct graph_call *calls = w->g->calls.data;
	double *costs = calloc(w->g->functions.count * w->count + 1, sizeof *costs);

	for (size_t at = 0; costs && at < w->g->functions.count; at++) {
		for (size_t i = 0; i < w->count; i++) {
			double own = (double)costs_at(w->g, f[at].costs)[i];

			costs[at * w->count + i] = own;
			w->totals[i] += own;
		}
	}
	for (size_t at = 0; costs && at < w->g->calls.count; at++) {
		for (size_t i = 0; i < w->count && calls[at].caller != calls[at].callee; i++) {
			double cost = (double)costs_at(w->g, calls[at].costs)[i];

			costs[calls[at].caller * w->count + i] += cost;
			costs[calls[at].callee * w->count + i] -= cost;
		}
	}
	return costs;
}

static int walk_all(struct walk *w)
{
	double *roots = find_roots(w);
	int rc = roots ? 0 : -ENOMEM;

	for (uint32_t at = 0; rc == 0 && at < w->g->functions.count; at++) {
		for (size_t i = 0; i < w->count; i++)
			w->flow[i] = fmax(roots[at * w->count + i], 0);
		if (is_large(w) && w->places.count < MAX_COSTS / w->count)
			rc = walk_from(w, at);
	}
	free(roots);
	return rc;
}

/* The part of a function's own cost that this stack has of the stacks that are still to come, so
 * that all of it is given away. rest: [functions * count], of the values of those stacks. */
static void add_place(const struct walk *w, size_t at, double *rest)
{
	struct place place = ((const struct place *)w->places.data)[at];
	struct graph_function *f = function_at(w->g, place.function);
	const double *values = (const double *)w->values.data + at * w->count;
	int64_t out[PROFILE_MAX_TYPES] = { 0 }, *left = costs_at(w->g, f->costs);
	bool is_any = false;

	rest += place.function * w->count;
	for (size_t i = 0; i < w->count; i++) {
		if (values[i] > 0 && rest[i] > 0)
			out[i] = (int64_t)fmin(rint((double)left[i] * fmin(values[i] / rest[i], 1)),
					       0x1p62);
		if (out[i] > left[i])
			out[i] = left[i];
		rest[i] -= values[i];
		left[i] -= out[i];
		is_any |= out[i] != 0;
	}
	f->node = place.node;
	if (is_any)
		profile_add(w->g->p, place.node, 0, out);
}

static int add_places(struct walk *w)
{
	size_t count = w->g->functions.count * w->count;
	const struct place *places = w->places.data;
	const double *values = w->values.data;
	double *rest = calloc(count + 1, sizeof *rest);

	for (size_t at = 0; rest && at < w->places.count; at++)
		for (size_t i = 0; i < w->count; i++)
			rest[places[at].function * w->count + i] += values[at * w->count + i];
	for (size_t at = 0; rest && at < w->places.count; at++)
		add_place(w, at, rest);
	if (!rest)
		return -ENOMEM;
	free(rest);
	return 0;
}

/* What no path has: to the function's last stack, or one of its own. */
static void add_rest(struct walk *w)
{
	for (uint32_t at = 0; at < w->g->functions.count; at++) {
		struct graph_function *f = function_at(w->g, at);
		int64_t out[PROFILE_MAX_TYPES] = { 0 };
		bool is_any = false;

		for (size_t i = 0; i < w->count; i++) {
			out[i] = costs_at(w->g, f->costs)[i];
			is_any |= out[i] != 0;
		}
		if (is_any)
			profile_add(w->g->p,
				    f->node ? f->node : profile_push(w->g->p, 0, f->location), 0,
				    out);
	}
}

int callgrind_graph_stacks(struct callgrind_graph *g, struct err *e)
{
	CLEANUP(walk_fini) struct walk w = { .g = g, .count = g->event_count };
	int rc = sort_calls(&w);

	if (rc == 0)
		rc = walk_all(&w);
	if (rc == 0)
		rc = add_places(&w);
	if (rc < 0)
		return err_nomem(e);
	add_rest(&w);
	return profile_check(g->p, e);
}
