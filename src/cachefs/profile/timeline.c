/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/timeline.h"

static int64_t end_ns(const struct timeline *t)
{
	return t->count ? t->steps[t->count - 1].end_ns : 0;
}

int64_t timeline_next_ns(const struct timeline *t)
{
	return end_ns(t) + (t->step_ns ? t->step_ns : TIMELINE_FIRST_NS);
}

static void halve(struct timeline *t)
{
	for (size_t i = 0; i < TIMELINE_STEPS / 2; i++) {
		struct timeline_step *to = &t->steps[i];
		const struct timeline_step *from = &t->steps[2 * i + 1];

		*to = t->steps[2 * i];
		to->end_ns = from->end_ns;
		for (int k = 0; k < METRICS_SUMS; k++)
			to->sums[k] += from->sums[k];
	}
	t->count = TIMELINE_STEPS / 2;
	t->step_ns = 2 * (t->step_ns ? t->step_ns : TIMELINE_FIRST_NS);
}

void timeline_add(struct timeline *t, int64_t now_ns, const uint64_t sums[METRICS_SUMS])
{
	struct timeline_step *step;

	if (t->count == TIMELINE_STEPS)
		halve(t);
	step = &t->steps[t->count];
	step->start_ns = end_ns(t);
	step->end_ns = now_ns;
	for (int i = 0; i < METRICS_SUMS; i++) {
		/* A smaller sum means a reset in between. */
		step->sums[i] = sums[i] < t->sums[i] ? sums[i] : sums[i] - t->sums[i];
		t->sums[i] = sums[i];
	}
	t->count++;
}
