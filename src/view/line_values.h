/* SPDX-License-Identifier: MIT */
/*
 * line_values: the values of chosen functions by source line and by address.
 *
 * The self of a line is the samples on it outside of any callee; inlined callees count as callees.
 * Its total is the samples with the line anywhere on the stack; recursion counts once.
 */
#ifndef VIEW_LINE_VALUES_H
#define VIEW_LINE_VALUES_H

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

/* is_chosen: [profile_function_count], by function id. */
int line_values_collect(struct line_values *ret, const struct profile *p, size_t type,
			const bool *is_chosen, struct err *e) MUST_CHECK;
void line_values_fini(struct line_values *c);

/* NULL: nothing was sampled there. */
const struct line_value *line_values_find(const struct line_values *c, uint32_t file, int64_t line);
const struct address_value *line_values_find_address(const struct line_values *c, uint32_t mapping,
						     uint64_t address);

#endif
