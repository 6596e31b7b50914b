/* SPDX-License-Identifier: MIT */
/*
 * stacks: one value of a profile over its calling-context trie, walked depth first.
 *
 * Ids are those of the profile's nodes. The walk visits each node twice: before and after its
 * children, which come in no particular order. It does not recurse, so stacks may have any depth.
 * Sums saturate.
 */
#ifndef VIEW_STACKS_H
#define VIEW_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/profile.h"

struct stacks {
	const struct profile *profile;
	uint32_t *first_child;  /* [node_count]; 0: none */
	uint32_t *next_sibling; /* [node_count]; 0: none */
	int64_t *total;         /* [node_count]: of the node and all above it */
};

struct stacks_walk {
	uint32_t node; /* entered or left; 0: before the first step */
	bool is_leaving;
};

int stacks_init(struct stacks *s, const struct profile *p, size_t type, struct err *e) MUST_CHECK;
void stacks_fini(struct stacks *s);

/* The next step of a walk that starts all zero. The empty stack is not visited. */
bool stacks_step(const struct stacks *s, struct stacks_walk *w);

int64_t stacks_add(int64_t a, int64_t b); /* saturates */

#endif
