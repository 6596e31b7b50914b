/* SPDX-License-Identifier: MIT */
/*
 * graph: a graph of calls with the own cost of functions and the inclusive cost of calls, as
 * stacks.
 *
 * Such a graph has no stacks: which callers of a function lead to which of its calls is unknown. It
 * is shared out as if a function did the same for each caller. Then functions without recursion
 * have their own and inclusive costs and calls theirs, and whole stacks are an estimate. A function
 * that is in the stack is not called again; so in cycles only own costs are exact. Paths with less
 * than 1/20000 of all costs are not followed: the cost is added to the other paths of the function.
 *
 * Limits: 1000 frames of a stack, 4 million costs of stacks, 64 million of functions and calls.
 */
#ifndef FORMAT_CALLGRIND_GRAPH_H
#define FORMAT_CALLGRIND_GRAPH_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"

#define CALLGRIND_NO_FUNCTION UINT32_MAX

struct callgrind_graph {
	struct profile *p;
	size_t event_count;
	struct rows functions; /* struct graph_function */
	struct rows calls;     /* struct graph_call */
	struct rows costs;     /* int64_t[event_count], of functions and calls as they come */
	struct map by_name;    /* index of functions, by name and file */
	struct map by_pair;    /* index of calls, by caller and callee */
};

void callgrind_graph_fini(struct callgrind_graph *g);

/* The function of these ids of strings. CALLGRIND_NO_FUNCTION: out of memory. */
uint32_t callgrind_graph_function(struct callgrind_graph *g, uint32_t name, uint32_t file);

/* costs: [event_count], not negative. 0 or -ENOMEM. */
void callgrind_graph_add_cost(struct callgrind_graph *g, uint32_t function, const int64_t *costs);
int callgrind_graph_add_call(struct callgrind_graph *g, uint32_t caller, uint32_t callee,
			     const int64_t *costs) MUST_CHECK;

/* Adds all stacks to the profile, whose sample types are the events. */
int callgrind_graph_stacks(struct callgrind_graph *g, struct err *e) MUST_CHECK;

#endif
