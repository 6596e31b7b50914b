/* SPDX-License-Identifier: MIT */
/* api: the public functions outside of the hot path, which is in context.c. */
#include "auger/stage.h"

#include <string.h>

#include "stage/context.h"
#include "stage/names.h"
#include "stage/thread.h"

static struct auger_name name_of(const char *text, size_t len)
{
	return (struct auger_name){ text, len, text ? names_intern(text, len, false) : 0 };
}

EXPORT auger_token auger_stage_begin_name(struct auger_profiler *p, const char *text, size_t len)
{
	struct auger_name name;

	if (!p)
		return 0;
	name = name_of(text, len);
	return auger_begin(p, &name);
}

EXPORT void auger_stage_end_name(struct auger_profiler *p, const char *text, size_t len)
{
	struct shard *s = p ? thread_shard(p) : NULL;

	if (s)
		context_end_name(&s->context, s,
				 text ? names_intern(text, len, false)
				      : names_intern("(null)", 6, true));
}

EXPORT auger_path auger_stage_current(struct auger_profiler *p)
{
	struct shard *s = p ? thread_shard(p) : NULL;

	return s ? auger_context_current(&s->context) : PATH_TOP;
}

EXPORT void auger_thread_attach(struct auger_profiler *p, auger_path path)
{
	struct shard *s = p ? thread_shard(p) : NULL;

	if (s && path <= p->paths.max)
		s->context.base = path;
}

static struct auger_context *take_task(struct auger_profiler *p)
{
	struct auger_context *c = p->spare_tasks;

	if (c) {
		p->spare_tasks = c->spare;
		return c;
	}
	c = arena_alloc(&p->arena, sizeof *c);
	if (!c)
		return NULL;
	c->profiler = p;
	c->is_task = true;
	c->next = p->tasks;
	p->tasks = c;
	return c;
}

EXPORT struct auger_context *auger_context_new(struct auger_profiler *p, auger_path path)
{
	struct auger_context *c;

	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	c = take_task(p);
	if (c) {
		c->id = ++p->context_ids;
		c->base = path <= p->paths.count ? path : PATH_TOP;
	}
	pthread_mutex_unlock(&p->lock);
	return c;
}

EXPORT void auger_context_free(struct auger_context *c)
{
	struct shard *s;

	if (!c)
		return;
	s = thread_shard(c->profiler);
	if (s)
		context_end_all(c, s);
	pthread_mutex_lock(&c->profiler->lock);
	c->spare = c->profiler->spare_tasks;
	c->profiler->spare_tasks = c;
	pthread_mutex_unlock(&c->profiler->lock);
}

EXPORT auger_path auger_context_current(struct auger_context *c)
{
	if (!c)
		return PATH_TOP;
	return c->top ? c->top->path : c->base;
}
