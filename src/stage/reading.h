/* SPDX-License-Identifier: MIT */
/*
 * reading: reads all costs at a begin or an end.
 *
 * The target may be part of a frame that a reporting thread reads at the same time.
 */
#ifndef STAGE_READING_H
#define STAGE_READING_H

#include "stage/profiler.h"
#include "stage/ticks.h"

/* Flushes the heap counts of this thread, so that they are part of the peaks of open stages. */
static inline void reading_heap(const struct auger_profiler *p, const struct shard *s,
				struct reading *b)
{
	struct heap_thread *t = s->heap;

	if (t->live != t->flushed || t->peak != t->flushed)
		p->heap->flush(t);
	STORE_RELEASE(b->at[COST_HEAP], __atomic_load_n(&p->heap->process->live, __ATOMIC_RELAXED));
	STORE_RELEASE(b->heap_moment, peaks_now(&p->heap->process->peaks));
	STORE_RELEASE(b->at[COST_ALLOCS], (int64_t)t->allocs);
	STORE_RELEASE(b->at[COST_ALLOC_BYTES], (int64_t)t->bytes_made);
}

static inline void reading_source(struct auger_profiler *p, struct reading *b)
{
	int64_t live, peak;

	STORE_RELEASE(b->has_source, p->source.read(p->source.self, &live, &peak) == 0);
	if (!b->has_source)
		return;
	if (peak > LOAD_ACQUIRE(p->source_live))
		peaks_add(&p->source_peaks, peak);
	STORE_RELEASE(p->source_live, live);
	STORE_RELEASE(b->at[COST_SOURCE], live);
	STORE_RELEASE(b->source_moment, peaks_now(&p->source_peaks));
}

static inline void reading_process(struct auger_profiler *p, struct counters *m, bool is_begin,
				   struct reading *b)
{
	STORE_RELEASE(b->rss_hwm, counters_read_process(m, b->at, is_begin));
	if (!p->resets_rss)
		return;
	peaks_lock(&p->rss_peaks);
	peaks_put(&p->rss_peaks, counters_rss_hwm_kb());
	counters_reset_rss_hwm();
	STORE_RELEASE(b->rss_moment, p->rss_peaks.now);
	peaks_unlock(&p->rss_peaks);
}

/* Reads the time last: the stage excludes the cost of the reading. */
static ALWAYS_INLINE void reading_at_begin(struct auger_profiler *p, struct shard *s,
					   struct reading *b)
{
	const uint32_t groups = p->groups;

	if (UNLIKELY(groups & GROUP_PROCESS))
		reading_process(p, &s->counters, true, b);
	if (UNLIKELY(groups & GROUP_SOURCE))
		reading_source(p, b);
	if (groups & GROUP_HEAP)
		reading_heap(p, s, b);
	STORE_RELEASE(b->at[COST_WALL], (int64_t)ticks());
	if (LIKELY(groups & GROUP_THREAD))
		counters_read_thread(&s->counters, b->at, true);
}

/* Reads the time first. */
static ALWAYS_INLINE void reading_at_end(struct auger_profiler *p, struct shard *s,
					 bool reads_source, struct reading *b)
{
	const uint32_t groups = p->groups;

	STORE_RELEASE(b->at[COST_WALL], (int64_t)ticks());
	if (LIKELY(groups & GROUP_THREAD))
		counters_read_thread(&s->counters, b->at, false);
	if (groups & GROUP_HEAP)
		reading_heap(p, s, b);
	STORE_RELEASE(b->has_source, false);
	if (LIKELY(!(groups & GROUPS_RARE)))
		return;
	if ((groups & GROUP_SOURCE) && reads_source)
		reading_source(p, b);
	if (groups & GROUP_PROCESS)
		reading_process(p, &s->counters, false, b);
}

#endif
