/* SPDX-License-Identifier: MIT */
#include "view/stacks.h"

#include <stdlib.h>

#include "base/number.h"

int64_t stacks_add(int64_t a, int64_t b)
{
	number_add(&a, b);
	return a;
}

int stacks_init(struct stacks *s, const struct profile *p, size_t type, struct err *e)
{
	size_t count = profile_node_count(p);

	*s = (struct stacks){ .profile = p };
	s->first_child = calloc(count, sizeof *s->first_child);
	s->next_sibling = calloc(count, sizeof *s->next_sibling);
	s->total = calloc(count, sizeof *s->total);
	if (!s->first_child || !s->next_sibling || !s->total) {
		stacks_fini(s);
		return err_nomem(e);
	}
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample sample = profile_get_sample(p, i);
		int64_t *total = &s->total[sample.node];

		*total = stacks_add(*total, sample.values[type]);
	}
	/* Children have larger ids than their parents. */
	for (uint32_t i = (uint32_t)count; --i > 0;) {
		uint32_t parent = profile_get_node(p, i).parent;

		s->total[parent] = stacks_add(s->total[parent], s->total[i]);
		s->next_sibling[i] = s->first_child[parent];
		s->first_child[parent] = i;
	}
	return 0;
}

void stacks_fini(struct stacks *s)
{
	free(s->first_child);
	free(s->next_sibling);
	free(s->total);
	*s = (struct stacks){ 0 };
}

bool stacks_step(const struct stacks *s, struct stacks_walk *w)
{
	if (!w->is_leaving && s->first_child[w->node]) {
		w->node = s->first_child[w->node];
		return true;
	}
	if (!w->is_leaving) {
		w->is_leaving = true; /* a leaf; or nothing but the empty stack */
		return w->node != 0;
	}
	if (s->next_sibling[w->node]) {
		w->node = s->next_sibling[w->node];
		w->is_leaving = false;
		return true;
	}
	w->node = profile_get_node(s->profile, w->node).parent;
	return w->node != 0;
}
