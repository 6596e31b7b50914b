/* SPDX-License-Identifier: MIT */
#include "stage/context.h"

#include <string.h>

#include "stage/names.h"
#include "stage/reading.h"
#include "stage/shard.h"
#include "stage/thread.h"
#include "stage/ticks.h"

#define SERIAL_BITS 40
#define SERIAL_MASK ((UINT64_C(1) << SERIAL_BITS) - 1)
#define ID_MASK ((UINT64_C(1) << 23) - 1)
#define DEEP (UINT64_C(1) << 63)

static auger_token make_token(const struct auger_context *c, uint64_t serial)
{
	return (c->id & ID_MASK) << SERIAL_BITS | (serial & SERIAL_MASK);
}

static bool is_own(const struct auger_context *c, auger_token token)
{
	return (token >> SERIAL_BITS & ID_MASK) == (c->id & ID_MASK);
}

static void count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* False in a signal handler that interrupted a change of this context. */
static bool enter(struct auger_context *c)
{
	if (UNLIKELY(c->change & 1)) {
		count(&c->profiler->lost, 1);
		return false;
	}
	STORE_RELEASE(c->change, c->change + 1);
	return true;
}

static void leave(struct auger_context *c)
{
	STORE_RELEASE(c->change, c->change + 1);
}

static void store_reading(uint32_t groups, struct reading *to, const struct reading *from)
{
	costs_set(groups, to->at, from->at);
	if (groups & GROUP_HEAP)
		STORE_RELEASE(to->heap_moment, from->heap_moment);
	if (groups & GROUP_SOURCE) {
		STORE_RELEASE(to->source_moment, from->source_moment);
		STORE_RELEASE(to->has_source, from->has_source);
	}
	if (groups & GROUP_PROCESS) {
		STORE_RELEASE(to->rss_moment, from->rss_moment);
		STORE_RELEASE(to->rss_hwm, from->rss_hwm);
	}
}

/* A stage that was open at the last reset counts from there. */
static void restart_frame(struct auger_profiler *p, struct frame *f)
{
	pthread_mutex_lock(&p->lock);
	store_reading(p->groups, &f->begin, &p->reset);
	STORE_RELEASE(f->epoch, p->epoch);
	pthread_mutex_unlock(&p->lock);
	STORE_RELEASE(f->flags, f->flags | FRAME_RESET);
	STORE_RELEASE(f->inner_groups, 0);
	STORE_RELEASE(f->rss_seen, f->begin.at[COST_RSS_KB]);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct maximum peak_of(const struct peaks *peaks, uint64_t moment, int64_t a, int64_t b)
{
	struct peaks *shared = (struct peaks *)(uintptr_t)peaks; /* for its lock */

	return (struct maximum){ peaks_since(shared, moment, larger(a, b)), true, true };
}

static struct maximum rss_peak(const struct auger_profiler *p, const struct frame *f,
			       const struct reading *b)
{
	int64_t seen = larger(f->rss_seen, b->at[COST_RSS_KB]);

	if (p->resets_rss)
		return peak_of(&p->rss_peaks, f->begin.rss_moment, seen, seen);
	if (b->rss_hwm > f->begin.rss_hwm)
		return (struct maximum){ b->rss_hwm, true, true };
	return (struct maximum){ seen, true, false };
}

/* Most calls allocate and free nothing. */
static inline void make_heap(const struct auger_profiler *p, const struct frame *f,
			     const struct reading *b, bool same_thread, struct call *ret)
{
	const int64_t *begin = f->begin.at;

	ret->heap_peak = peak_of(&p->heap->process->peaks, f->begin.heap_moment, begin[COST_HEAP],
				 b->at[COST_HEAP]);
	if (LIKELY(same_thread && begin[COST_HEAP] == b->at[COST_HEAP] &&
		   begin[COST_ALLOCS] == b->at[COST_ALLOCS]))
		return;
	ret->groups |= GROUP_HEAP;
	costs_subtract_range(ret->total, b->at, begin, COSTS_HEAP, COSTS_SOURCE);
	if (!same_thread) {
		ret->total[COST_ALLOCS] = 0;
		ret->total[COST_ALLOC_BYTES] = 0;
	}
}

/* Most calls do not wait. */
static inline void make_thread(const struct frame *f, const struct reading *b, bool same_thread,
			       struct call *ret)
{
	const int64_t *begin = f->begin.at;
	int64_t *total = ret->total;

	if (LIKELY(same_thread && begin[COST_WAIT_TICKS] == b->at[COST_WAIT_TICKS]))
		return;
	ret->groups |= GROUP_THREAD;
	total[COST_MIGRATED] = same_thread ? 0 : total[COST_WALL];
	total[COST_WAIT_TICKS] = same_thread ? b->at[COST_WAIT_TICKS] - begin[COST_WAIT_TICKS] : 0;
	total[COST_WAIT_NS] = same_thread ? b->at[COST_WAIT_NS] - begin[COST_WAIT_NS] : 0;
}

static void make_source(const struct auger_profiler *p, const struct frame *f,
			const struct reading *b, struct call *ret)
{
	const struct reading *begin = &f->begin;

	ret->source_peak.is_known = begin->has_source && b->has_source;
	if (!ret->source_peak.is_known)
		return;
	ret->groups |= GROUP_SOURCE;
	ret->total[COST_SOURCE] = b->at[COST_SOURCE] - begin->at[COST_SOURCE];
	ret->source_peak = peak_of(&p->source_peaks, begin->source_moment, begin->at[COST_SOURCE],
				   b->at[COST_SOURCE]);
}

static __attribute__((noinline)) void make_rare(const struct auger_profiler *p,
						const struct frame *f, const struct reading *b,
						struct call *ret)
{
	if (p->groups & GROUP_SOURCE)
		make_source(p, f, b, ret);
	if (p->groups & GROUP_PROCESS) {
		ret->groups |= GROUP_PROCESS;
		costs_subtract_range(ret->total, b->at, f->begin.at, COSTS_PROCESS, COST_COUNT);
		ret->rss_peak = rss_peak(p, f, b);
	}
}

/* s: the shard that b belongs to; NULL: b has no values of a thread. */
static ALWAYS_INLINE void make_call(const struct auger_profiler *p, const struct frame *f,
				    const struct reading *b, const struct shard *s,
				    struct call *ret)
{
	const uint32_t groups = p->groups;
	bool same_thread = s && f->shard == s && !(f->flags & FRAME_RESET);

	ret->groups = GROUP_WALL;
	ret->begin = (uint64_t)f->begin.at[COST_WALL];
	ret->inner_groups = f->inner_groups;
	ret->inner = f->inner;
	ret->total[COST_WALL] = larger(0, b->at[COST_WALL] - f->begin.at[COST_WALL]);
	if (LIKELY(groups & GROUP_THREAD))
		make_thread(f, b, same_thread, ret);
	if (groups & GROUP_HEAP)
		make_heap(p, f, b, same_thread, ret);
	if (UNLIKELY(groups & GROUPS_RARE))
		make_rare(p, f, b, ret);
}

static void clear_rows(struct shard *s)
{
	for (uint32_t i = 1; i <= s->profiler->paths.max; i++) {
		if (s->rows[i])
			row_clear(s->rows[i]);
	}
	STORE_RELEASE(s->epoch, LOAD_ACQUIRE(s->profiler->epoch));
}

static inline void add_to_parent(struct auger_profiler *p, struct frame *parent,
				 const struct call *call)
{
	if (UNLIKELY(parent->epoch != LOAD_ACQUIRE(p->epoch)))
		restart_frame(p, parent);
	frame_add_inner(parent, call);
	if ((p->groups & GROUP_PROCESS) && call->rss_peak.value > parent->rss_seen)
		STORE_RELEASE(parent->rss_seen, call->rss_peak.value);
}

/* Counts the call of a stage that ends at reading b. */
static ALWAYS_INLINE void count_call(struct auger_profiler *p, struct shard *s, struct frame *f,
				     const struct reading *b, bool is_error)
{
	struct call call;
	struct row *row;

	if (UNLIKELY(f->epoch != LOAD_ACQUIRE(p->epoch)))
		restart_frame(p, f);
	if (UNLIKELY(s->epoch != LOAD_ACQUIRE(p->epoch)))
		clear_rows(s);
	if (UNLIKELY(f->flags & FRAME_INHERITED))
		return;
	make_call(p, f, b, s, &call);
	row = s->rows[f->path];
	if (UNLIKELY(!row))
		row = shard_row(s, f->path);
	if (LIKELY(row))
		row_add_call(row, &call, p->groups);
	else
		count(&p->lost, 1);
	if (UNLIKELY(is_error) && row)
		STORE_RELEASE(row->errors, row->errors + 1);
	if (f->below)
		add_to_parent(p, f->below, &call);
}

static inline void release_frame(struct auger_context *c, struct shard *s, struct frame *f)
{
	STORE_RELEASE(c->depth, c->depth - 1);
	STORE_RELEASE(f->below, s->spare);
	s->spare = f;
}

/* Ends the innermost stage at reading b. */
static ALWAYS_INLINE void pop(struct auger_context *c, struct shard *s, const struct reading *b,
			      bool is_error)
{
	struct frame *f = c->top;

	count_call(c->profiler, s, f, b, is_error);
	STORE_RELEASE(c->top, f->below);
	release_frame(c, s, f);
}

/*
 * Ends a stage of a task and leaves the stages inside it open. Their cost so far becomes its inner
 * part; their cost from here on becomes that of the stage around it.
 */
static void remove_frame(struct auger_context *c, struct shard *s, struct frame *f,
			 const struct reading *b)
{
	struct auger_profiler *p = c->profiler;
	struct frame *above = c->top;
	struct call part = { 0 };

	while (above->below != f)
		above = above->below;
	if (above->epoch != LOAD_ACQUIRE(p->epoch))
		restart_frame(p, above);
	if (!(above->flags & FRAME_INHERITED)) {
		make_call(p, above, b, s, &part);
		add_to_parent(p, f, &part);
	}
	if (!(above->flags & FRAME_INHERITED) && f->below) {
		for (int i = 0; i < COST_COUNT; i++)
			part.total[i] = -part.total[i];
		add_to_parent(p, f->below, &part);
	}
	count_call(p, s, f, b, false);
	STORE_RELEASE(above->below, f->below);
	release_frame(c, s, f);
}

/* Ends an open stage, and the stages inside it as errors. */
static void pop_to(struct auger_context *c, struct shard *s, const struct frame *target,
		   const struct reading *b, bool is_error)
{
	bool is_last;

	count(&c->profiler->stray_ends, c->deep);
	c->deep = 0;
	do {
		is_last = c->top == target;
		pop(c, s, b, is_error || !is_last);
	} while (!is_last);
}

static void end_deep(struct auger_context *c, auger_token token)
{
	uint32_t level = (uint32_t)token;

	if (is_own(c, token) && level && level <= c->deep)
		c->deep = level - 1;
	else
		count(&c->profiler->stray_ends, 1);
}

/* The end of a stage that is not the innermost. */
static __attribute__((noinline)) void end_other(struct auger_context *c, struct shard *s,
						auger_token token, const struct reading *b)
{
	struct frame *f = c->top;

	if (token & DEEP) {
		end_deep(c, token);
		return;
	}
	while (f && f->token != token)
		f = f->below;
	if (f && c->is_task)
		remove_frame(c, s, f, b);
	else if (f)
		pop_to(c, s, f, b, false);
	else if (!is_own(c, token) || (token & SERIAL_MASK) > c->ended_serial)
		count(&c->profiler->stray_ends, 1);
}

static ALWAYS_INLINE void end(struct auger_context *c, struct shard *s, auger_token token)
{
	struct reading b;

	if (!token || !enter(c))
		return;
	reading_at_end(c->profiler, s, true, &b);
	if (LIKELY(c->top && c->top->token == token && !c->deep))
		pop(c, s, &b, false);
	else
		end_other(c, s, token, &b);
	leave(c);
}

void context_end_name(struct auger_context *c, struct shard *s, uint32_t name)
{
	struct reading b;
	struct frame *f;

	if (!enter(c))
		return;
	reading_at_end(c->profiler, s, true, &b);
	f = c->top;
	while (f && f->name != name)
		f = f->below;
	if (c->deep) /* stages too deep have no names: end the innermost */
		c->deep--;
	else if (f)
		pop_to(c, s, f, &b, false);
	else
		count(&c->profiler->stray_ends, 1);
	leave(c);
}

void context_end_all(struct auger_context *c, struct shard *s)
{
	struct frame *last = c->top;
	struct reading b;

	if (!last || !enter(c))
		return;
	while (last->below)
		last = last->below;
	reading_at_end(c->profiler, s, false, &b);
	pop_to(c, s, last, &b, true);
	leave(c);
}

/* Ends scopes whose function returned without an end: the new scope is in an outer function. */
static __attribute__((noinline)) void end_abandoned(struct auger_context *c, struct shard *s,
						    const void *address)
{
	struct frame *passed = NULL;
	struct reading b;

	for (struct frame *f = c->top; f; f = f->below) {
		if (f->address && f->address < address)
			passed = f;
	}
	reading_at_end(c->profiler, s, true, &b);
	if (passed)
		pop_to(c, s, passed, &b, true);
}

/* Begins a stage that is not measured: too deep, or out of memory. Nor are stages inside it. */
static __attribute__((noinline)) auger_token begin_deep(struct auger_context *c)
{
	struct auger_profiler *p = c->profiler;

	count(c->depth < p->opts.max_depth && !c->deep ? &p->lost : &p->too_deep, 1);
	c->deep++;
	return DEEP | make_token(c, c->deep);
}

static __attribute__((noinline)) uint32_t look_up(struct auger_profiler *p, struct auger_name *name)
{
	static const char null[] = "(null)";
	uint32_t id;

	if (!name->text) {
		count(&p->bad_names, 1);
		return names_intern(null, sizeof null - 1, true);
	}
	id = names_intern(name->text, name->len ? name->len : strlen(name->text), true);
	STORE_RELEASE(name->id, id);
	return id;
}

static ALWAYS_INLINE auger_token begin(struct auger_context *c, struct shard *s,
				       struct auger_name *name, void *address)
{
	struct auger_profiler *p = c->profiler;
	uint32_t id = LOAD_ACQUIRE(name->id);
	struct frame *f;
	uint32_t path = 0;
	auger_token token;

	if (!enter(c))
		return 0;
	if (UNLIKELY(!id))
		id = look_up(p, name);
	if (address && c->top && UNLIKELY(c->top->address && c->top->address < address))
		end_abandoned(c, s, address);
	f = LIKELY(s->spare != NULL) ? s->spare : shard_frame(s);
	if (LIKELY(f && c->depth < p->opts.max_depth && !c->deep))
		path = shard_child(s, c->top ? c->top->path : c->base, id);
	if (UNLIKELY(!path)) {
		token = begin_deep(c);
		leave(c);
		return token;
	}
	s->spare = f->below;
	token = make_token(c, ++c->serial);
	STORE_RELEASE(f->below, c->top);
	STORE_RELEASE(f->token, token);
	STORE_RELEASE(f->name, id);
	STORE_RELEASE(f->shard, s);
	STORE_RELEASE(f->address, address);
	STORE_RELEASE(f->path, path);
	STORE_RELEASE(f->epoch, LOAD_ACQUIRE(p->epoch));
	STORE_RELEASE(f->flags, 0);
	STORE_RELEASE(f->inner_groups, 0);
	reading_at_begin(p, s, &f->begin);
	if (p->groups & GROUP_PROCESS)
		STORE_RELEASE(f->rss_seen, f->begin.at[COST_RSS_KB]);
	STORE_RELEASE(c->top, f);
	STORE_RELEASE(c->depth, c->depth + 1);
	leave(c);
	return token;
}

void context_read_now(struct auger_profiler *p, struct shard *own, struct reading *ret)
{
	struct counters once = { .files = &p->files };

	memset(ret, 0, sizeof *ret);
	if (own) {
		reading_at_end(p, own, false, ret);
		return;
	}
	ret->at[COST_WALL] = (int64_t)ticks();
	if (p->groups & GROUP_PROCESS)
		reading_process(p, &once, false, ret);
	if (p->groups & GROUP_HEAP) {
		ret->at[COST_HEAP] = __atomic_load_n(&p->heap->process->live, __ATOMIC_RELAXED);
		ret->heap_moment = peaks_now(&p->heap->process->peaks);
	}
	ret->source_moment = peaks_now(&p->source_peaks);
}

void context_reset_frame(const struct auger_profiler *p, struct frame *f)
{
	if (f->epoch == p->epoch)
		return;
	f->epoch = p->epoch;
	f->begin = p->reset;
	f->flags |= FRAME_RESET;
	f->inner_groups = 0;
	f->rss_seen = f->begin.at[COST_RSS_KB];
}

void context_open_call(const struct auger_profiler *p, const struct frame *f,
		       const struct reading *now, const struct shard *own, struct call *ret)
{
	make_call(p, f, now, own, ret);
}

EXPORT auger_token auger_begin(struct auger_profiler *p, struct auger_name *name)
{
	struct shard *s = thread_shard(p);

	if (LIKELY(s != NULL))
		return begin(&s->context, s, name, NULL);
	count(&p->lost, 1);
	return 0;
}

EXPORT auger_token auger_begin_scope(struct auger_profiler *p, struct auger_name *name,
				     void *address)
{
	struct shard *s = thread_shard(p);

	if (LIKELY(s != NULL))
		return begin(&s->context, s, name, address);
	count(&p->lost, 1);
	return 0;
}

EXPORT void auger_end(struct auger_profiler *p, auger_token token)
{
	struct shard *s = thread_shard(p);

	if (LIKELY(s != NULL))
		end(&s->context, s, token);
}

EXPORT auger_token auger_context_begin(struct auger_context *c, struct auger_name *name)
{
	struct shard *s = c ? thread_shard(c->profiler) : NULL;

	if (LIKELY(s != NULL))
		return begin(c, s, name, NULL);
	if (c)
		count(&c->profiler->lost, 1);
	return 0;
}

EXPORT void auger_context_end(struct auger_context *c, auger_token token)
{
	struct shard *s = c ? thread_shard(c->profiler) : NULL;

	if (LIKELY(s != NULL))
		end(c, s, token);
}
