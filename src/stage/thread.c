/* SPDX-License-Identifier: MIT */
#include "stage/thread.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stage/registry.h"

_Thread_local struct thread *thread_self __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static thread_end_stages *end_stages; /* of a context whose thread exits */
static struct arena arena;            /* of threads; under the registry's lock */
static struct thread *spare_threads;  /* under the registry's lock */

static void retire_rows(struct auger_profiler *p, struct shard *s)
{
	for (uint32_t i = 1; i <= p->paths.max; i++) {
		struct row *row = s->rows[i];

		if (!row || (!row->calls && !row->errors))
			continue;
		if (!p->retired[i])
			p->retired[i] = arena_alloc(&p->arena, sizeof *row);
		if (!p->retired[i])
			continue;
		row_add(p->retired[i], row);
		p->retired[i]->threads += row->calls > 0;
		row_clear(row);
	}
}

/* With per_thread, the first KEPT_SHARDS_MAX threads that end keep their rows. */
static bool keeps_rows(struct auger_profiler *p)
{
	return p->opts.per_thread && p->kept_shards < KEPT_SHARDS_MAX;
}

static void retire(struct auger_profiler *p, struct shard *s)
{
	end_stages(&s->context, s);
	counters_stop(&s->counters);
	pthread_mutex_lock(&p->lock);
	if (s->epoch == p->epoch && keeps_rows(p)) {
		p->kept_shards++;
	} else {
		if (s->epoch == p->epoch)
			retire_rows(p, s);
		s->is_used = false;
	}
	pthread_mutex_unlock(&p->lock);
}

static void at_thread_exit(void *self)
{
	struct thread *t = self;

	registry_lock();
	for (unsigned i = 0; i < PROFILERS_MAX; i++) {
		struct auger_profiler *p = registry_get(i);

		if (p && t->slots[i].serial == p->serial)
			retire(p, t->slots[i].shard);
		t->slots[i].serial = 0;
	}
	thread_self = NULL;
	t->next = spare_threads;
	spare_threads = t;
	registry_unlock();
}

int threads_start(thread_end_stages *end)
{
	end_stages = end;
	return -pthread_key_create(&exit_key, at_thread_exit);
}

static struct thread *new_thread(void)
{
	struct thread *t;

	registry_lock();
	t = spare_threads;
	if (t)
		spare_threads = t->next;
	else
		t = arena_alloc(&arena, sizeof *t);
	registry_unlock();
	if (!t)
		return NULL;
	thread_self = t;
	pthread_setspecific(exit_key, t);
	return t;
}

static struct shard *make_shard(struct auger_profiler *p)
{
	struct shard *s = arena_alloc(&p->arena, sizeof *s);

	if (!s)
		return NULL;
	s->rows = arena_alloc(&p->arena, (p->paths.max + 1) * sizeof(struct row *));
	if (!s->rows)
		return NULL;
	s->profiler = p;
	s->context.profiler = p;
	s->epoch = p->epoch;
	s->next = p->shards;
	STORE_RELEASE(p->shards, s);
	return s;
}

static struct shard *take_shard(struct auger_profiler *p)
{
	struct shard *s;

	pthread_mutex_lock(&p->lock);
	s = p->shards;
	while (s && s->is_used)
		s = s->next;
	if (!s)
		s = make_shard(p);
	if (s) {
		s->is_used = true;
		s->context.id = ++p->context_ids;
		STORE_RELEASE(s->context.base, PATH_TOP);
		s->tid = (pid_t)syscall(SYS_gettid);
	}
	pthread_mutex_unlock(&p->lock);
	if (!s)
		return NULL;
	s->heap = p->heap ? p->heap->thread() : NULL;
	if ((p->groups & GROUP_THREAD) || (p->groups & GROUP_PROCESS))
		counters_start(&s->counters, &p->files, &p->plan);
	return s;
}

struct shard *thread_shard_slowly(struct auger_profiler *p)
{
	int saved = errno;
	struct thread *t = thread_self ? thread_self : new_thread();
	struct shard *s = t ? take_shard(p) : NULL;

	if (s)
		t->slots[p->slot] = (struct thread_slot){ p->serial, s };
	errno = saved;
	return s;
}

static void fork_context(const struct auger_profiler *p, struct auger_context *c, struct shard *own)
{
	bool is_ours = own && (c == &own->context || c->is_task);

	c->change = 0;
	if (is_ours && p->opts.fork == AUGER_FORK_KEEP) {
		for (struct frame *f = c->top; f; f = f->below)
			f->flags |= FRAME_INHERITED;
		return;
	}
	c->top = NULL;
	c->depth = 0;
	c->deep = 0;
	c->base = PATH_TOP;
	c->ended_serial = c->serial;
}

void thread_forked(struct auger_profiler *p)
{
	struct thread *t = thread_self;
	struct shard *own = NULL;

	if (t && t->slots[p->slot].serial == p->serial)
		own = t->slots[p->slot].shard;
	for (struct shard *s = p->shards; s; s = s->next) {
		fork_context(p, &s->context, own);
		counters_stop(&s->counters);
		s->is_used = s == own;
	}
	for (struct auger_context *c = p->tasks; c; c = c->next)
		fork_context(p, c, own);
	if (own) {
		own->tid = (pid_t)syscall(SYS_gettid);
		counters_start(&own->counters, &p->files, &p->plan);
	}
}
