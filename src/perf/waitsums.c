/* SPDX-License-Identifier: MIT */
#include "perf/waitsums.h"

#include <stdlib.h>

void waitsums_fini(struct waitsums *s)
{
	free(s->sums);
	map_fini(&s->by_key);
}

struct waitsum *waitsums_get(struct waitsums *s, uint64_t key)
{
	uint32_t *slot = map_at(&s->by_key, key);

	if (!slot)
		return NULL;
	if (*slot != MAP_NONE)
		return &s->sums[*slot];
	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;
		struct waitsum *grown = reallocarray(s->sums, cap, sizeof *grown);

		if (!grown)
			return NULL;
		s->sums = grown;
		s->cap = cap;
	}
	*slot = (uint32_t)s->count;
	s->sums[s->count] = (struct waitsum){ 0 };
	return &s->sums[s->count++];
}

void waitsums_finish(const struct waitsums *s, struct waits *to)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct waitsum *sum = &s->sums[i];
		struct offcpu_wait wait = {
			.before = { .signals = sum->signals,
				    .state = sum->state,
				    .is_cut = sum->is_cut },
			.waited_ns = sum->waited_ns,
			.runnable_ns = sum->runnable_ns,
			.is_lost = sum->signals == 0,
		};

		if (sum->count)
			waits_add(to, &wait, sum->count, sum->node, sum->labels);
	}
}
