/* SPDX-License-Identifier: MIT */
#include "stage/nest.h"

#include <string.h>

#include "stage/boundary.h"
#include "stage/names.h"
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
	POKE(c->change, c->change + 1);
	return true;
}

static void leave(struct auger_context *c)
{
	POKE(c->change, c->change + 1);
}

static void poke_boundary(uint32_t groups, struct boundary *to, const struct boundary *from)
{
	costs_set(groups, to->at, from->at);
	if (groups & GROUP_HEAP)
		POKE(to->heap_moment, from->heap_moment);
	if (groups & GROUP_SOURCE) {
		POKE(to->source_moment, from->source_moment);
		POKE(to->has_source, from->has_source);
	}
	if (groups & GROUP_PROCESS) {
		POKE(to->rss_moment, from->rss_moment);
		POKE(to->rss_hwm, from->rss_hwm);
	}
}

/* A stage that was open when the profiler was reset counts from then. */
static void begin_anew(struct auger_profiler *p, struct frame *f)
{
	pthread_mutex_lock(&p->lock);
	poke_boundary(p->groups, &f->begin, &p->reset);
	POKE(f->epoch, p->epoch);
	pthread_mutex_unlock(&p->lock);
	POKE(f->flags, f->flags | FRAME_CUT);
	POKE(f->inner_groups, 0);
	POKE(f->rss_seen, f->begin.at[COST_RSS_KB]);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct extreme peak_of(const struct peaks *peaks, uint64_t moment, int64_t a, int64_t b)
{
	struct peaks *shared = (struct peaks *)(uintptr_t)peaks; /* for its lock */

	return (struct extreme){ peaks_since(shared, moment, larger(a, b)), true, true };
}

static struct extreme rss_peak(const struct auger_profiler *p, const struct frame *f,
			       const struct boundary *b)
{
	int64_t seen = larger(f->rss_seen, b->at[COST_RSS_KB]);

	if (p->resets_rss)
		return peak_of(&p->rss_peaks, f->begin.rss_moment, seen, seen);
	if (b->rss_hwm > f->begin.rss_hwm)
		return (struct extreme){ b->rss_hwm, true, true };
	return (struct extreme){ seen, true, false };
}

/* The usual call made and freed nothing. */
static inline void make_heap(const struct auger_profiler *p, const struct frame *f,
			     const struct boundary *b, bool same_thread, struct call *ret)
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

/* The usual call did not wait. */
static inline void make_thread(const struct frame *f, const struct boundary *b, bool same_thread,
			       struct call *ret)
{
	const int64_t *begin = f->begin.at;
	int64_t *total = ret->total;

	if (LIKELY(same_thread && begin[COST_WAIT_TICKS] == b->at[COST_WAIT_TICKS]))
		return;
	ret->groups |= GROUP_THREAD;
	total[COST_APART] = same_thread ? 0 : total[COST_WALL];
	total[COST_WAIT_TICKS] = same_thread ? b->at[COST_WAIT_TICKS] - begin[COST_WAIT_TICKS] : 0;
	total[COST_WAIT_NS] = same_thread ? b->at[COST_WAIT_NS] - begin[COST_WAIT_NS] : 0;
}

static void make_source(const struct auger_profiler *p, const struct frame *f,
			const struct boundary *b, struct call *ret)
{
	const struct boundary *begin = &f->begin;

	ret->source_peak.is_known = begin->has_source && b->has_source;
	if (!ret->source_peak.is_known)
		return;
	ret->groups |= GROUP_SOURCE;
	ret->total[COST_SOURCE] = b->at[COST_SOURCE] - begin->at[COST_SOURCE];
	ret->source_peak = peak_of(&p->source_peaks, begin->source_moment, begin->at[COST_SOURCE],
				   b->at[COST_SOURCE]);
}

static __attribute__((noinline)) void make_rare(const struct auger_profiler *p,
						const struct frame *f, const struct boundary *b,
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

/* s: the shard that b was read in; NULL: it has nothing that only a thread knows. */
static ALWAYS_INLINE void make_call(const struct auger_profiler *p, const struct frame *f,
				    const struct boundary *b, const struct shard *s,
				    struct call *ret)
{
	const uint32_t groups = p->groups;
	bool same_thread = s && f->shard == s && !(f->flags & FRAME_CUT);

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
	POKE(s->epoch, PEEK(s->profiler->epoch));
}

static inline void tell_parent(struct auger_profiler *p, struct frame *parent,
			       const struct call *call)
{
	if (UNLIKELY(parent->epoch != PEEK(p->epoch)))
		begin_anew(p, parent);
	frame_add_inner(parent, call);
	if ((p->groups & GROUP_PROCESS) && call->rss_peak.value > parent->rss_seen)
		POKE(parent->rss_seen, call->rss_peak.value);
}

/* Counts the call of an open stage that ends at a boundary. */
static ALWAYS_INLINE void count_call(struct auger_profiler *p, struct shard *s, struct frame *f,
				     const struct boundary *b, bool is_error)
{
	struct call call;
	struct row *row;

	if (UNLIKELY(f->epoch != PEEK(p->epoch)))
		begin_anew(p, f);
	if (UNLIKELY(s->epoch != PEEK(p->epoch)))
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
		POKE(row->errors, row->errors + 1);
	if (f->below)
		tell_parent(p, f->below, &call);
}

static inline void put_away(struct auger_context *c, struct shard *s, struct frame *f)
{
	POKE(c->depth, c->depth - 1);
	POKE(f->below, s->spare);
	s->spare = f;
}

/* Ends the innermost stage at a boundary. */
static ALWAYS_INLINE void pop(struct auger_context *c, struct shard *s, const struct boundary *b,
			      bool is_error)
{
	struct frame *f = c->top;

	count_call(c->profiler, s, f, b, is_error);
	POKE(c->top, f->below);
	put_away(c, s, f);
}

/*
 * Ends a stage of a task and leaves those inside of it open. What they cost so far is the inner
 * part of it; of the stage around it is what they cost from now on.
 */
static void take_out(struct auger_context *c, struct shard *s, struct frame *f,
		     const struct boundary *b)
{
	struct auger_profiler *p = c->profiler;
	struct frame *above = c->top;
	struct call part = { 0 };

	while (above->below != f)
		above = above->below;
	if (above->epoch != PEEK(p->epoch))
		begin_anew(p, above);
	if (!(above->flags & FRAME_INHERITED)) {
		make_call(p, above, b, s, &part);
		tell_parent(p, f, &part);
	}
	if (!(above->flags & FRAME_INHERITED) && f->below) {
		for (int i = 0; i < COST_COUNT; i++)
			part.total[i] = -part.total[i];
		tell_parent(p, f->below, &part);
	}
	count_call(p, s, f, b, false);
	POKE(above->below, f->below);
	put_away(c, s, f);
}

/* Ends a stage that is open, and those inside of it, which are errors. */
static void pop_to(struct auger_context *c, struct shard *s, const struct frame *target,
		   const struct boundary *b, bool is_error)
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
						auger_token token, const struct boundary *b)
{
	struct frame *f = c->top;

	if (token & DEEP) {
		end_deep(c, token);
		return;
	}
	while (f && f->token != token)
		f = f->below;
	if (f && c->is_task)
		take_out(c, s, f, b);
	else if (f)
		pop_to(c, s, f, b, false);
	else if (!is_own(c, token) || (token & SERIAL_MASK) > c->ended_serial)
		count(&c->profiler->stray_ends, 1);
}

static ALWAYS_INLINE void end(struct auger_context *c, struct shard *s, auger_token token)
{
	struct boundary b;

	if (!token || !enter(c))
		return;
	boundary_read_end(c->profiler, s, true, &b);
	if (LIKELY(c->top && c->top->token == token && !c->deep))
		pop(c, s, &b, false);
	else
		end_other(c, s, token, &b);
	leave(c);
}

void nest_end_name(struct auger_context *c, struct shard *s, uint32_t name)
{
	struct boundary b;
	struct frame *f;

	if (!enter(c))
		return;
	boundary_read_end(c->profiler, s, true, &b);
	f = c->top;
	while (f && f->name != name)
		f = f->below;
	if (c->deep) /* which of them has this name is not known: the innermost */
		c->deep--;
	else if (f)
		pop_to(c, s, f, &b, false);
	else
		count(&c->profiler->stray_ends, 1);
	leave(c);
}

void nest_end_all(struct auger_context *c, struct shard *s)
{
	struct frame *last = c->top;
	struct boundary b;

	if (!last || !enter(c))
		return;
	while (last->below)
		last = last->below;
	boundary_read_end(c->profiler, s, false, &b);
	pop_to(c, s, last, &b, true);
	leave(c);
}

/* A scope whose function was left without its end: the new one is in an outer function. */
static __attribute__((noinline)) void end_passed(struct auger_context *c, struct shard *s,
						 const void *address)
{
	struct frame *passed = NULL;
	struct boundary b;

	for (struct frame *f = c->top; f; f = f->below) {
		if (f->address && f->address < address)
			passed = f;
	}
	boundary_read_end(c->profiler, s, true, &b);
	if (passed)
		pop_to(c, s, passed, &b, true);
}

/* A stage that is not measured, and those inside of it: too deep, or without memory. */
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
	POKE(name->id, id);
	return id;
}

static ALWAYS_INLINE auger_token begin(struct auger_context *c, struct shard *s,
				       struct auger_name *name, void *address)
{
	struct auger_profiler *p = c->profiler;
	uint32_t id = PEEK(name->id);
	struct frame *f;
	uint32_t path = 0;
	auger_token token;

	if (!enter(c))
		return 0;
	if (UNLIKELY(!id))
		id = look_up(p, name);
	if (address && c->top && UNLIKELY(c->top->address && c->top->address < address))
		end_passed(c, s, address);
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
	POKE(f->below, c->top);
	POKE(f->token, token);
	POKE(f->name, id);
	POKE(f->shard, s);
	POKE(f->address, address);
	POKE(f->path, path);
	POKE(f->epoch, PEEK(p->epoch));
	POKE(f->flags, 0);
	POKE(f->inner_groups, 0);
	boundary_read_begin(p, s, &f->begin);
	if (p->groups & GROUP_PROCESS)
		POKE(f->rss_seen, f->begin.at[COST_RSS_KB]);
	POKE(c->top, f);
	POKE(c->depth, c->depth + 1);
	leave(c);
	return token;
}

void nest_read_now(struct auger_profiler *p, struct shard *own, struct boundary *ret)
{
	struct meter once = { .files = &p->files };

	memset(ret, 0, sizeof *ret);
	if (own) {
		boundary_read_end(p, own, false, ret);
		return;
	}
	ret->at[COST_WALL] = (int64_t)ticks();
	if (p->groups & GROUP_PROCESS)
		boundary_read_process(p, &once, false, ret);
	if (p->groups & GROUP_HEAP) {
		ret->at[COST_HEAP] = __atomic_load_n(&p->heap->process->live, __ATOMIC_RELAXED);
		ret->heap_moment = peaks_now(&p->heap->process->peaks);
	}
	ret->source_moment = peaks_now(&p->source_peaks);
}

void nest_cut_copy(const struct auger_profiler *p, struct frame *f)
{
	if (f->epoch == p->epoch)
		return;
	f->epoch = p->epoch;
	f->begin = p->reset;
	f->flags |= FRAME_CUT;
	f->inner_groups = 0;
	f->rss_seen = f->begin.at[COST_RSS_KB];
}

void nest_call_so_far(const struct auger_profiler *p, const struct frame *f,
		      const struct boundary *now, const struct shard *own, struct call *ret)
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
