/* SPDX-License-Identifier: MIT */
#include "perf/offcpu_sums.h"

#include <stdlib.h>

void offcpu_sums_fini(struct offcpu_sums *s)
{
	free(s->sums);
	map_fini(&s->by_key);
}

struct offcpu_sum *offcpu_sums_get(struct offcpu_sums *s, uint64_t key)
{
	uint32_t *slot = map_at(&s->by_key, key);

	if (!slot)
		return NULL;
	if (*slot != MAP_NONE)
		return &s->sums[*slot];
	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;
		struct offcpu_sum *grown = reallocarray(s->sums, cap, sizeof *grown);

		if (!grown)
			return NULL;
		s->sums = grown;
		s->cap = cap;
	}
	*slot = (uint32_t)s->count;
	s->sums[s->count] = (struct offcpu_sum){ 0 };
	return &s->sums[s->count++];
}

void offcpu_sums_finish(const struct offcpu_sums *s, struct offcpu_profile *to)
{
	for (size_t i = 0; i < 2 * s->count; i++) {
		const struct offcpu_sum *sum = &s->sums[i / 2];
		const struct offcpu_time *time = &sum->times[i % 2];
		struct offcpu_wait wait = {
			.before = { .signals = sum->signals,
				    .state = sum->state,
				    .is_cut = sum->is_cut },
			.waited_ns = time->waited_ns,
			.runnable_ns = time->runnable_ns,
			.is_lost = sum->signals == 0,
			.is_unfinished = i % 2,
		};

		if (time->count)
			offcpu_profile_add(to, &wait, time->count, sum->node, sum->labels);
	}
}
