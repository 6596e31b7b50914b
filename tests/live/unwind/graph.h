/* SPDX-License-Identifier: MIT */
/*
 * graph: the call graph that a workload is known to have, and stacks judged by it.
 *
 * A function that counts is alone in a section of its name, so where it begins and ends is
 * known without symbols. Its callers are told in words: "main" for a root, a function's name
 * for a direct call, "~name" for one through code that does not count (libc, the kernel).
 */
#ifndef GRAPH_H
#define GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler.h"

#define GRAPH_SECTION_ATTRIBUTE(name) __attribute__((noinline, section("graph_" #name)))

struct graph_function {
	const char *name;
	const char *start, *stop; /* its code */
	const char *callers;      /* words with a blank between */
	bool calls_out;           /* code that does not count may be innermost below it */
};

#define GRAPH_DECLARE(name) extern const char __start_graph_##name[], __stop_graph_##name[]
#define GRAPH_FUNCTION(name, callers, calls_out)                                     \
	{                                                                            \
#name, __start_graph_##name, __stop_graph_##name, callers, calls_out \
	}

/* The first thing that is wrong with a stack; NULL: nothing is; "none": no function of these. */
const char *graph_judge(const struct graph_function *functions, uint32_t count,
			const struct sampler_stack *stack);

/* Whether the innermost function is one that calls out, and other code is below it. */
bool graph_is_outside(const struct graph_function *functions, uint32_t count,
		      const struct sampler_stack *stack);

/* One line a frame, on standard error. */
void graph_print(const struct graph_function *functions, uint32_t count,
		 const struct sampler_stack *stack);

#endif
