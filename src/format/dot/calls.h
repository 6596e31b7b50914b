/* SPDX-License-Identifier: MIT */
/*
 * calls: one value of a profile by function, and of the calls between the largest functions.
 *
 * A function is a name in a module. A stack counts once in a total, even if it has the function or
 * the call several times. What is called through functions that are not chosen is a call of the
 * nearest chosen one, too, that is not direct. A call of itself is none. Sums saturate.
 */
#ifndef FORMAT_DOT_CALLS_H
#define FORMAT_DOT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"

struct called {
	uint32_t name;    /* string id; 0: code without a name */
	uint32_t module;  /* string id of the mapping's path */
	uint32_t mapping; /* id of one of its mappings */
	uint32_t on_path; /* times it is in the stack being walked */
	int64_t self, total;
	bool is_chosen;
};

struct call {
	uint32_t caller, callee; /* indices of functions */
	uint32_t on_path;        /* times it is in the stack being walked */
	int64_t value;
	bool is_direct; /* at least once */
};

/* All zero is empty. */
struct calls {
	const struct profile *p;
	int64_t whole;          /* of all samples, also of those without a stack */
	struct rows functions;  /* struct called */
	struct rows list;       /* struct call, of chosen functions */
	struct map ids;         /* (name, module) to index of functions */
	struct map pairs;       /* (caller, callee) to index of list */
	uint32_t *first;        /* [location_count + 1]: of its lines in function_of */
	uint32_t *function_of;  /* index of functions, innermost line first */
	uint32_t *child, *next; /* [node_count]: first child, next sibling; 0: none */
	uint32_t *above;        /* [node_count]: innermost chosen function; MAP_NONE: none */
	int64_t *total;         /* [node_count]: of the node and all above it */
};

void calls_fini(struct calls *c);

/* Functions with the values of a sample type. */
int calls_sum(struct calls *c, const struct profile *p, size_t type, struct err *e) MUST_CHECK;

/* Chooses the largest functions, and finds the calls between them. *ret: [*ret_count] indices of
 * functions, largest total first, ties by name; the caller's to free. */
int calls_choose(struct calls *c, size_t limit, int64_t least, uint32_t **ret, size_t *ret_count,
		 struct err *e) MUST_CHECK;

static inline struct called *calls_function(const struct calls *c, uint32_t index)
{
	return (struct called *)c->functions.data + index;
}

#endif
