/* SPDX-License-Identifier: MIT */
/*
 * boundary: the readings at a begin and at an end.
 *
 * The boundary may be that of a frame, which others read meanwhile.
 */
#ifndef STAGE_BOUNDARY_H
#define STAGE_BOUNDARY_H

#include "stage/profiler.h"
#include "stage/ticks.h"

/* What this thread did since its last boundary becomes part of the windows that are open now. */
static inline void boundary_read_heap(const struct auger_profiler *p, const struct shard *s,
				      struct boundary *b)
{
	struct heap_thread *t = s->heap;

	if (t->live != t->flushed || t->peak != t->flushed)
		p->heap->flush(t);
	POKE(b->at[COST_HEAP], __atomic_load_n(&p->heap->process->live, __ATOMIC_RELAXED));
	POKE(b->heap_moment, peaks_now(&p->heap->process->peaks));
	POKE(b->at[COST_ALLOCS], (int64_t)t->allocs);
	POKE(b->at[COST_ALLOC_BYTES], (int64_t)t->bytes_made);
}

static inline void boundary_read_source(struct auger_profiler *p, struct boundary *b)
{
	int64_t live, peak;

	POKE(b->has_source, p->source.read(p->source.self, &live, &peak) == 0);
	if (!b->has_source)
		return;
	if (peak > PEEK(p->source_live))
		peaks_add(&p->source_peaks, peak);
	POKE(p->source_live, live);
	POKE(b->at[COST_SOURCE], live);
	POKE(b->source_moment, peaks_now(&p->source_peaks));
}

static inline void boundary_read_process(struct auger_profiler *p, struct meter *m, bool is_begin,
					 struct boundary *b)
{
	POKE(b->rss_hwm, meter_read_process(m, b->at, is_begin));
	if (!p->resets_rss)
		return;
	peaks_lock(&p->rss_peaks);
	peaks_put(&p->rss_peaks, meter_rss_hwm_kb());
	meter_reset_rss_hwm();
	POKE(b->rss_moment, p->rss_peaks.now);
	peaks_unlock(&p->rss_peaks);
}

/* The time last: what the readings take is no part of the stage. */
static ALWAYS_INLINE void boundary_read_begin(struct auger_profiler *p, struct shard *s,
					      struct boundary *b)
{
	const uint32_t groups = p->groups;

	if (UNLIKELY(groups & GROUP_PROCESS))
		boundary_read_process(p, &s->meter, true, b);
	if (UNLIKELY(groups & GROUP_SOURCE))
		boundary_read_source(p, b);
	if (groups & GROUP_HEAP)
		boundary_read_heap(p, s, b);
	POKE(b->at[COST_WALL], (int64_t)ticks());
	if (LIKELY(groups & GROUP_THREAD))
		meter_read_thread(&s->meter, b->at, true);
}

/* The time first. */
static ALWAYS_INLINE void boundary_read_end(struct auger_profiler *p, struct shard *s,
					    bool asks_source, struct boundary *b)
{
	const uint32_t groups = p->groups;

	POKE(b->at[COST_WALL], (int64_t)ticks());
	if (LIKELY(groups & GROUP_THREAD))
		meter_read_thread(&s->meter, b->at, false);
	if (groups & GROUP_HEAP)
		boundary_read_heap(p, s, b);
	POKE(b->has_source, false);
	if (LIKELY(!(groups & GROUPS_RARE)))
		return;
	if ((groups & GROUP_SOURCE) && asks_source)
		boundary_read_source(p, b);
	if (groups & GROUP_PROCESS)
		boundary_read_process(p, &s->meter, false, b);
}

#endif
