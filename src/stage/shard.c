/* SPDX-License-Identifier: MIT */
#include "stage/shard.h"

#define FRAMES_AT_ONCE 16

struct row *shard_row(struct shard *s, uint32_t path)
{
	struct auger_profiler *p = s->profiler;

	if (!s->rows[path]) {
		pthread_mutex_lock(&p->lock);
		STORE_RELEASE(s->rows[path], arena_alloc(&p->arena, sizeof(struct row)));
		pthread_mutex_unlock(&p->lock);
	}
	return s->rows[path];
}

uint32_t shard_child_slowly(struct shard *s, struct child *known, uint32_t parent, uint32_t name)
{
	struct auger_profiler *p = s->profiler;
	bool is_other;
	uint32_t path;

	pthread_mutex_lock(&p->lock);
	path = paths_child(&p->paths, parent, name, &p->arena);
	is_other = path && path == p->paths.other;
	pthread_mutex_unlock(&p->lock);
	if (is_other)
		__atomic_fetch_add(&p->other_calls, 1, __ATOMIC_RELAXED);
	else if (path)
		*known = (struct child){ child_key(parent, name), path };
	return path;
}

struct frame *shard_frame(struct shard *s)
{
	struct auger_profiler *p = s->profiler;
	struct frame *frames;

	pthread_mutex_lock(&p->lock);
	frames = arena_alloc(&p->arena, FRAMES_AT_ONCE * sizeof *frames);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; frames && i < FRAMES_AT_ONCE; i++) {
		frames[i].below = s->spare;
		s->spare = &frames[i];
	}
	return s->spare;
}
