/* SPDX-License-Identifier: MIT */
#include "stage/nest.h"

#include <string.h>

#include "stage/names.h"
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

/* What this thread did since its last boundary becomes part of the windows that are open now. */
static void read_heap(const struct auger_profiler *p, const struct shard *s, struct boundary *b)
{
	struct heap_thread *t = s->heap;

	if (t->live != t->flushed || t->peak != t->flushed)
		p->heap->flush(t);
	b->at[COST_HEAP] = __atomic_load_n(&p->heap->process->live, __ATOMIC_RELAXED);
	b->heap_moment = peaks_now(&p->heap->process->peaks);
	b->at[COST_ALLOCS] = (int64_t)t->allocs;
	b->at[COST_FREES] = (int64_t)t->frees;
	b->at[COST_ALLOC_BYTES] = (int64_t)t->bytes_made;
}

static void read_source(struct auger_profiler *p, struct boundary *b)
{
	int64_t live, peak;

	b->has_source = p->source.read(p->source.self, &live, &peak) == 0;
	if (!b->has_source)
		return;
	if (peak > PEEK(p->source_live))
		peaks_add(&p->source_peaks, peak);
	POKE(p->source_live, live);
	b->at[COST_SOURCE] = live;
	b->source_moment = peaks_now(&p->source_peaks);
}

static void read_process(struct auger_profiler *p, struct meter *m, bool is_begin,
			 struct boundary *b)
{
	b->rss_hwm = meter_read_process(m, b->at, is_begin);
	if (!p->resets_rss)
		return;
	peaks_lock(&p->rss_peaks);
	peaks_put(&p->rss_peaks, b->rss_hwm);
	meter_reset_rss_hwm();
	b->rss_moment = p->rss_peaks.now;
	peaks_unlock(&p->rss_peaks);
}

/* The time last: what the readings take is no part of the stage. */
static inline void read_begin(struct auger_profiler *p, struct shard *s, struct boundary *b)
{
	if (p->groups.process)
		read_process(p, &s->meter, true, b);
	if (p->groups.source)
		read_source(p, b);
	if (p->groups.heap)
		read_heap(p, s, b);
	b->ticks = ticks();
	if (p->groups.thread)
		meter_read_thread(&s->meter, b->at, &b->ticks, true);
	b->at[COST_WALL] = (int64_t)b->ticks;
}

/* The time first. */
static inline void read_end(struct auger_profiler *p, struct shard *s, bool asks_source,
			    struct boundary *b)
{
	b->ticks = ticks();
	b->at[COST_WALL] = (int64_t)b->ticks;
	if (p->groups.thread)
		meter_read_thread(&s->meter, b->at, &b->ticks, false);
	if (p->groups.heap)
		read_heap(p, s, b);
	b->has_source = false;
	if (p->groups.source && asks_source)
		read_source(p, b);
	if (p->groups.process)
		read_process(p, &s->meter, false, b);
}

static void poke_costs(const struct cost_groups *g, int64_t *to, const int64_t *from)
{
	POKE(to[COST_WALL], from[COST_WALL]);
	for (int i = COST_THREAD_WALL; g->thread && i < COSTS_HEAP; i++)
		POKE(to[i], from[i]);
	for (int i = COSTS_HEAP; g->heap && i < COSTS_SOURCE; i++)
		POKE(to[i], from[i]);
	if (g->source)
		POKE(to[COST_SOURCE], from[COST_SOURCE]);
	for (int i = COSTS_PROCESS; g->process && i < COST_COUNT; i++)
		POKE(to[i], from[i]);
}

static void clear_costs(const struct cost_groups *g, int64_t *costs)
{
	static const int64_t zero[COST_COUNT];

	poke_costs(g, costs, zero);
}

static void add_costs(const struct cost_groups *g, int64_t *to, const int64_t *more)
{
	int64_t sum[COST_COUNT];

	for (int i = 0; i < COST_COUNT; i++)
		sum[i] = to[i] + more[i];
	poke_costs(g, to, sum);
}

static void poke_boundary(const struct cost_groups *g, struct boundary *to,
			  const struct boundary *from)
{
	POKE(to->ticks, from->ticks);
	poke_costs(g, to->at, from->at);
	if (g->heap)
		POKE(to->heap_moment, from->heap_moment);
	if (g->source) {
		POKE(to->source_moment, from->source_moment);
		POKE(to->has_source, from->has_source);
	}
	if (g->process) {
		POKE(to->rss_moment, from->rss_moment);
		POKE(to->rss_hwm, from->rss_hwm);
	}
}

/* A stage that was open when the profiler was reset counts from then. */
static void begin_anew(struct auger_profiler *p, struct frame *f)
{
	pthread_mutex_lock(&p->lock);
	poke_boundary(&p->groups, &f->begin, &p->reset);
	POKE(f->epoch, p->epoch);
	pthread_mutex_unlock(&p->lock);
	POKE(f->is_cut, true);
	POKE(f->rss_seen, f->begin.at[COST_RSS_KB]);
	clear_costs(&p->groups, f->inner);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct extreme rss_peak(const struct auger_profiler *p, const struct frame *f,
			       const struct boundary *b)
{
	int64_t seen = larger(f->rss_seen, b->at[COST_RSS_KB]);
	struct auger_profiler *shared = (struct auger_profiler *)(uintptr_t)p;

	if (p->resets_rss)
		return (struct extreme){ peaks_since(&shared->rss_peaks, f->begin.rss_moment, seen),
					 true, true };
	if (b->rss_hwm > f->begin.rss_hwm)
		return (struct extreme){ b->rss_hwm, true, true };
	return (struct extreme){ seen, true, false };
}

/* s: the shard that b was read in; NULL: it has nothing that only a thread knows. */
static void make_call(const struct auger_profiler *p, const struct frame *f,
		      const struct boundary *b, const struct shard *s, struct call *ret)
{
	const struct cost_groups *g = &p->groups;
	bool same_thread = s && f->shard == s && !f->is_cut;
	int64_t *total = ret->total;

	memset(total, 0, sizeof ret->total);
	ret->heap_peak.is_known = false;
	ret->source_peak.is_known = false;
	ret->rss_peak.is_known = false;
	ret->begin = f->begin.ticks;
	ret->inner = f->inner;
	total[COST_WALL] = larger(0, b->at[COST_WALL] - f->begin.at[COST_WALL]);
	for (int i = COST_THREAD_WALL; g->thread && same_thread && i < COSTS_HEAP; i++)
		total[i] = b->at[i] - f->begin.at[i];
	if (g->heap) {
		struct peaks *peaks = &p->heap->process->peaks;
		int64_t least = larger(f->begin.at[COST_HEAP], b->at[COST_HEAP]);

		total[COST_HEAP] = b->at[COST_HEAP] - f->begin.at[COST_HEAP];
		for (int i = COST_ALLOCS; same_thread && i < COSTS_SOURCE; i++)
			total[i] = b->at[i] - f->begin.at[i];
		ret->heap_peak = (struct extreme){ peaks_since(peaks, f->begin.heap_moment, least),
						   true, true };
	}
	if (g->source && f->begin.has_source && b->has_source) {
		struct peaks *peaks = &((struct auger_profiler *)(uintptr_t)p)->source_peaks;
		int64_t least = larger(f->begin.at[COST_SOURCE], b->at[COST_SOURCE]);

		total[COST_SOURCE] = b->at[COST_SOURCE] - f->begin.at[COST_SOURCE];
		ret->source_peak =
			(struct extreme){ peaks_since(peaks, f->begin.source_moment, least), true,
					  true };
	}
	if (g->process) {
		for (int i = COSTS_PROCESS; i < COST_COUNT; i++)
			total[i] = b->at[i] - f->begin.at[i];
		ret->rss_peak = rss_peak(p, f, b);
	}
}

static void clear_rows(struct shard *s)
{
	for (uint32_t i = 1; i <= s->profiler->paths.max; i++) {
		if (s->rows[i])
			row_clear(s->rows[i]);
	}
	POKE(s->epoch, PEEK(s->profiler->epoch));
}

static void tell_parent(struct auger_profiler *p, struct frame *parent, const struct call *call)
{
	if (UNLIKELY(parent->epoch != PEEK(p->epoch)))
		begin_anew(p, parent);
	add_costs(&p->groups, parent->inner, call->total);
	if (p->groups.process && call->rss_peak.value > parent->rss_seen)
		POKE(parent->rss_seen, call->rss_peak.value);
}

/* Ends the innermost stage at a boundary. */
static inline void pop(struct auger_context *c, struct shard *s, const struct boundary *b,
		       bool is_error)
{
	struct auger_profiler *p = c->profiler;
	struct frame *f = c->top;
	struct call call;
	struct row *row;

	if (UNLIKELY(f->epoch != PEEK(p->epoch)))
		begin_anew(p, f);
	if (UNLIKELY(s->epoch != PEEK(p->epoch)))
		clear_rows(s);
	if (LIKELY(!f->is_inherited)) {
		make_call(p, f, b, s, &call);
		row = s->rows[f->path];
		if (UNLIKELY(!row))
			row = shard_row(s, f->path);
		if (LIKELY(row))
			row_add_call(row, &call, &p->groups);
		else
			count(&p->lost, 1);
		if (UNLIKELY(is_error) && row)
			POKE(row->errors, row->errors + 1);
		if (f->below)
			tell_parent(p, f->below, &call);
	}
	POKE(c->top, f->below);
	POKE(c->depth, c->depth - 1);
	POKE(f->below, s->spare);
	s->spare = f;
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
	if (f)
		pop_to(c, s, f, b, false);
	else if (!is_own(c, token) || (token & SERIAL_MASK) > c->ended_serial)
		count(&c->profiler->stray_ends, 1);
}

void nest_end(struct auger_context *c, struct shard *s, auger_token token)
{
	struct boundary b;

	if (!token || !enter(c))
		return;
	read_end(c->profiler, s, true, &b);
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
	read_end(c->profiler, s, true, &b);
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
	read_end(c->profiler, s, false, &b);
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
	read_end(c->profiler, s, true, &b);
	if (passed)
		pop_to(c, s, passed, &b, true);
}

static __attribute__((noinline)) auger_token begin_deep(struct auger_context *c)
{
	count(&c->profiler->too_deep, 1);
	c->deep++;
	return DEEP | make_token(c, c->deep);
}

static __attribute__((noinline)) uint32_t look_up(struct auger_profiler *p, struct auger_name *name)
{
	static const char null[] = "(null)";
	uint32_t id;

	if (!name->text) {
		count(&p->bad_names, 1);
		return names_intern(null, sizeof null - 1);
	}
	id = names_intern(name->text, name->len ? name->len : strlen(name->text));
	POKE(name->id, id);
	return id;
}

auger_token nest_begin(struct auger_context *c, struct shard *s, struct auger_name *name,
		       void *address)
{
	struct auger_profiler *p = c->profiler;
	uint32_t id = PEEK(name->id);
	struct boundary b;
	struct frame *f;
	uint32_t path = 0;
	auger_token token;

	if (UNLIKELY(!id))
		id = look_up(p, name);
	if (!enter(c))
		return 0;
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
	f->token = token;
	f->name = id;
	POKE(f->shard, s);
	f->address = address;
	POKE(f->path, path);
	POKE(f->epoch, PEEK(p->epoch));
	POKE(f->is_inherited, false);
	POKE(f->is_cut, false);
	clear_costs(&p->groups, f->inner);
	read_begin(p, s, &b);
	poke_boundary(&p->groups, &f->begin, &b);
	POKE(f->rss_seen, p->groups.process ? b.at[COST_RSS_KB] : 0);
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
		read_end(p, own, false, ret);
		return;
	}
	ret->ticks = ticks();
	ret->at[COST_WALL] = (int64_t)ret->ticks;
	if (p->groups.process)
		read_process(p, &once, false, ret);
	if (p->groups.heap) {
		ret->at[COST_HEAP] = __atomic_load_n(&p->heap->process->live, __ATOMIC_RELAXED);
		ret->heap_moment = peaks_now(&p->heap->process->peaks);
	}
	ret->source_moment = peaks_now(&p->source_peaks);
}

void nest_call_so_far(const struct auger_profiler *p, struct frame *f, const struct boundary *now,
		      const struct shard *own, struct call *ret)
{
	if (f->epoch != p->epoch) {
		f->begin = p->reset;
		f->is_cut = true;
		f->rss_seen = f->begin.at[COST_RSS_KB];
		memset(f->inner, 0, sizeof f->inner);
	}
	make_call(p, f, now, own, ret);
}
