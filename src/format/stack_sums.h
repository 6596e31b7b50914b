/* SPDX-License-Identifier: MIT */
/* stack_sums: one value of a profile summed by stack, over all labels. */
#ifndef FORMAT_STACK_SUMS_H
#define FORMAT_STACK_SUMS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "model/profile.h"

struct stack_sum {
	uint32_t node;
	int64_t value;
};

/* All zero is empty. */
struct stack_sums {
	struct rows sums; /* struct stack_sum, in order of first use */
	struct map index; /* node to its place in sums */
};

void stack_sums_fini(struct stack_sums *s);

/* -EOVERFLOW when a sum leaves int64_t. */
int stack_sums_make(struct stack_sums *s, const struct profile *p, size_t type,
		    struct err *e) MUST_CHECK;

#endif
