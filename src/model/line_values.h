/* SPDX-License-Identifier: MIT */
/*
 * line_values: the values of chosen functions by source line and by address, and their
 * instructions.
 *
 * The self of a line is the samples on it outside of any callee; inlined callees count as callees.
 * Its total is the samples with the line anywhere on the stack; recursion counts once.
 */
#ifndef MODEL_LINE_VALUES_H
#define MODEL_LINE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "model/profile.h"

struct line_value {
	uint32_t file; /* string id of the profile */
	int64_t line;  /* 0: unknown */
	int64_t self, total;
};

struct address_value {
	uint32_t mapping; /* id */
	uint64_t address;
	int64_t self, total;
};

/* All zero is empty. */
struct line_values {
	struct line_value *lines;        /* [line_count]; by file, then line */
	struct address_value *addresses; /* [address_count]; by mapping, then address */
	size_t line_count, address_count;
	int64_t self, total; /* of the functions together */
};

/* One instruction of the function's code. */
struct code_line {
	uint32_t mapping; /* id of the profile */
	uint32_t size;    /* bytes */
	uint64_t address;
	int64_t line;        /* of the function's file, 0: unknown */
	const char *text;    /* borrowed */
	const char *inlined; /* the inlined function that it is of; NULL: the function's own */
};

/* is_chosen: [profile_function_count], by function id. */
int line_values_collect(struct line_values *ret, const struct profile *p, size_t type,
			const bool *is_chosen, struct err *e) MUST_CHECK;
void line_values_fini(struct line_values *c);

/* NULL: nothing was sampled there. */
const struct line_value *line_values_find(const struct line_values *c, uint32_t file, int64_t line);
const struct address_value *line_values_find_address(const struct line_values *c, uint32_t mapping,
						     uint64_t address);

#endif
