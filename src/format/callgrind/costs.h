/* SPDX-License-Identifier: MIT */
/* callgrind_costs: the costs of a profile by function and line, and by call. */
#ifndef FORMAT_CALLGRIND_COSTS_H
#define FORMAT_CALLGRIND_COSTS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "model/profile.h"

/* A function of a mapped file. */
struct callgrind_function {
	uint32_t path;     /* string id of the profile, 0: of no file */
	uint32_t function; /* id, 0: not known, callgrind_no_stack() */
	uint32_t mapping;  /* id, for the name of what is not known */
};

/* The cost of one line itself, or of a call made from it: then callee is set. */
struct callgrind_cost {
	uint32_t caller, callee; /* places in functions; callee: NO_CALLEE */
	int64_t line;            /* of the caller; 0: unknown */
	uint64_t last;           /* sample that was added last, from 1: calls count once each */
	int64_t calls;           /* samples */
	int64_t values[];        /* [type_count] */
};

#define NO_CALLEE UINT32_MAX

/* All zero is empty but for p. */
struct callgrind_costs {
	const struct profile *p;  /* borrowed */
	struct rows functions;    /* struct callgrind_function, in order of first use */
	struct map function_keys; /* (path, function) to its place */
	struct rows costs; /* struct callgrind_cost, of cost_bytes; by caller, line and callee */
	size_t cost_bytes;
	struct strtab *cost_keys; /* key to its place */
	struct rows frames;       /* struct frame of the sample being added, leaf first */
	size_t samples;           /* index of type samples/count, or type_count */
};

/* -EINVAL: a negative value; -EOVERFLOW: a sum leaves int64_t. */
int callgrind_costs_make(struct callgrind_costs *c, struct err *e) MUST_CHECK;
void callgrind_costs_fini(struct callgrind_costs *c);

struct callgrind_cost *callgrind_costs_get(const struct callgrind_costs *c,
					   size_t place); /* place < costs.count */

/* The function, behind all others, of samples without a stack. */
uint32_t callgrind_no_stack(const struct profile *p);

#endif
