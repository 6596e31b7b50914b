/* SPDX-License-Identifier: MIT */
#include "perf/offcpu_sums.h"

#include <errno.h>
#include <stdlib.h>

void offcpu_sums_fini(struct offcpu_sums *s)
{
	free(s->sums);
	map_fini(&s->by_key);
	sample_times_fini(&s->times);
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

/* Times of threads, states and these differ, so that none takes the value of another. */
enum { IS_RUNNABLE = 1, IS_UNFINISHED = 2, OF_STATE = 4 };

static int add_time(struct offcpu_sums *s, const struct timed_value *like, unsigned flags,
		    uint64_t ns, uint64_t end_ns)
{
	struct timed_value timed = *like;

	if (ns == 0)
		return 0;
	timed.type = (uint16_t)(timed.type + flags);
	timed.value = ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
	return sample_times_add(&s->times, end_ns, &timed);
}

int offcpu_sums_add_time(struct offcpu_sums *s, uint64_t key, uint32_t tid,
			 const struct offcpu_wait *wait, uint64_t end_ns)
{
	struct offcpu_sum *sum = offcpu_sums_get(s, key);
	struct timed_value timed = { .labels = tid };
	int rc;

	if (!sum)
		return -ENOMEM;
	timed.node = (uint32_t)(sum - s->sums);
	timed.type = (uint16_t)(wait->before.state * OF_STATE +
				(wait->is_unfinished ? IS_UNFINISHED : 0));
	rc = add_time(s, &timed, 0, wait->waited_ns,
		      end_ns > wait->runnable_ns ? end_ns - wait->runnable_ns : 0);
	return rc == 0 ? add_time(s, &timed, IS_RUNNABLE, wait->runnable_ns, end_ns) : rc;
}

/* A wait as one of this sum, without times. */
static struct offcpu_wait wait_of(const struct offcpu_sum *sum, bool is_unfinished)
{
	return (struct offcpu_wait){
		.before = { .signals = sum->signals, .state = sum->state, .is_cut = sum->is_cut },
		.is_lost = sum->signals == 0,
		.is_unfinished = is_unfinished
	};
}

/* In the middle of their buckets. */
static void finish_times(const struct offcpu_sums *s, struct offcpu_profile *to)
{
	const struct sample_times *t = &s->times;

	for (size_t i = 0; i < t->entries.count; i++) {
		const struct timed_value *v = sample_times_at(t, i);
		const struct offcpu_sum *sum = &s->sums[v->node];
		struct offcpu_wait wait = wait_of(sum, v->type & IS_UNFINISHED);
		uint64_t *ns = v->type & IS_RUNNABLE ? &wait.runnable_ns : &wait.waited_ns;

		*ns = (uint64_t)v->value;
		offcpu_profile_add_time(to, &wait, sum->node, sum->labels,
					t->start_ns + v->bucket * t->bucket_ns + t->bucket_ns / 2);
	}
	if (t->is_thinned)
		profile_times(to->profile)->is_thinned = true;
}

void offcpu_sums_finish(const struct offcpu_sums *s, struct offcpu_profile *to)
{
	for (size_t i = 0; i < 2 * s->count; i++) {
		const struct offcpu_sum *sum = &s->sums[i / 2];
		const struct offcpu_time *time = &sum->times[i % 2];
		struct offcpu_wait wait = wait_of(sum, i % 2);

		wait.waited_ns = time->waited_ns;
		wait.runnable_ns = time->runnable_ns;
		if (time->count)
			offcpu_profile_add(to, &wait, time->count, sum->node, sum->labels);
	}
	finish_times(s, to);
}
